"""One answer from the windows of a Natural Questions page (specification §3.2, ETC's 'joint' way)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.text.tasks.natural_questions_metric import NO_SPAN, Span

# K best places, C candidates

YES, NO = 1, 2
"""Among the types of answer: null, yes, no, long, short."""


class Places(NamedTuple):
    """Where spans may begin, or end: of one window, or pooled. All of length K."""

    score: NDArray[np.float64]
    token: NDArray[np.int64]
    """Token of the page."""
    piece: NDArray[np.int64]
    """Piece of the document, as the model reads it without windows."""
    window: NDArray[np.int64]


class PageWindow(NamedTuple):
    """What the model says of one window; a span's end is its last place."""

    short_start: Places
    short_end: Places
    long_start: Places
    long_end: Places
    type_logits: NDArray[np.float64]
    """(5,)."""


class Found(NamedTuple):
    """A span in tokens of the page, half-open."""

    start: int
    end: int
    score: float
    window: int


class PagePrediction(NamedTuple):
    """What is submitted for a page, bytes apart."""

    long: Span
    long_score: float
    short: tuple[Span, ...]
    short_score: float
    yes_no: str
    """'yes', 'no' or 'none'."""


def pool(parts: Sequence[Places]) -> Places:
    """Return the places of all windows together."""
    return Places(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def joint_span(
    starts: Places, ends: Places, *, max_length: int | None = None, unit: str = "token"
) -> Found | None:
    """Return the best start with the best end at or after it.

    Where no end qualifies, the best end of all is taken, and the span goes from the earlier of both
    to the later. Of equal scores the first place wins.

    Args:
        max_length: The end is less than this after the start, counted in `unit`: 'token' or
            'piece'.

    Returns:
        None if there is no start or no end.
    """
    if not len(starts.score) or not len(ends.score):
        return None
    i = int(starts.score.argmax())
    fits = ends.token >= starts.token[i]
    if max_length is not None:
        fits &= getattr(ends, unit) - getattr(starts, unit)[i] < max_length
    j = int(np.where(fits, ends.score, -np.inf).argmax() if fits.any() else ends.score.argmax())
    first, last = sorted((int(starts.token[i]), int(ends.token[j])))
    score = float(starts.score[i] + ends.score[j])
    return Found(first, last + 1, score, int(starts.window[i]))


def candidate_of(span: Found, spans_C2: NDArray[np.int64], is_top_C: NDArray[np.bool_]) -> int:
    """Return the candidate that a long span coincides with, or the smallest top-level one around it.

    The metric needs exactly a candidate. A span outside all candidates goes to the top-level one
    with its first token; -1 if there is none.

    Args:
        spans_C2: First token and the one after the last, of every candidate.
        is_top_C: Which of them are top-level.
    """
    starts, ends = spans_C2[:, 0], spans_C2[:, 1]
    same = np.flatnonzero((starts == span.start) & (ends == span.end))
    if len(same):
        return int(same[0])
    for end in (span.end, span.start + 1):
        around = np.flatnonzero(is_top_C & (starts <= span.start) & (ends >= end))
        if len(around):
            return int(around[np.argmin(ends[around] - starts[around])])
    return -1


def decode_page(
    windows: Sequence[PageWindow],
    spans_C2: NDArray[np.int64],
    is_top_C: NDArray[np.bool_],
    *,
    max_short: int = 38,
    unit: str = "token",
    yes_no: str = "window",
) -> PagePrediction:
    """Return the answers of a page.

    Args:
        windows: In the order of the page.
        max_short, unit: See `joint_span`.
        yes_no: The window whose type of answer may replace the short answer by yes or no: that of
            the long span, whose score the answer gets ('window'), or the last one, with the score
            of the short span ('last').
    """
    long, short = (
        joint_span(
            pool([getattr(window, f"{side}_start") for window in windows]),
            pool([getattr(window, f"{side}_end") for window in windows]),
            max_length=limit,
            unit=unit,
        )
        for side, limit in (("long", None), ("short", max_short))
    )
    if long is None or short is None:
        return PagePrediction(NO_SPAN, 0.0, (), 0.0, "none")
    candidate = candidate_of(long, spans_C2, is_top_C)
    long_span = (*map(int, spans_C2[candidate]), -1, -1) if candidate >= 0 else NO_SPAN
    judge = windows[long.window if yes_no == "window" else -1]
    answer_type = int(judge.type_logits.argmax())
    if answer_type in (YES, NO):
        score = long.score if yes_no == "window" else short.score
        return PagePrediction(
            long_span, long.score, (), score, "yes" if answer_type == YES else "no"
        )
    short_span = (short.start, short.end, -1, -1)
    return PagePrediction(long_span, long.score, (short_span,), short.score, "none")
