"""The official metric of Natural Questions (nq_eval.py of google-research-datasets)."""
# A span is (start token, end token, start byte, end byte), half-open; -1: not known.

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int, int, int]
Answer = tuple[Span, Sequence[Span], str]
"""Long answer, short answers, and 'yes', 'no' or 'none': of an annotator or predicted."""

NO_SPAN: Span = (-1, -1, -1, -1)
COLUMNS = ("has_gold", "has_prediction", "is_correct", "score")
"""Of `long_row` and `short_row`."""


def is_span(span: Span) -> bool:
    """Return True if anything of a span is known."""
    return any(number >= 0 for number in span)


def same_span(span: Span, other: Span) -> bool:
    """Compare two spans: by bytes where both have them, or else by tokens; either suffices.

    >>> same_span((3, 5, -1, -1), (3, 5, 70, 90))
    True
    >>> same_span((-1, -1, 70, 90), (3, 5, 70, 90))
    True
    """
    for first in (2, 0):
        a, b = span[first : first + 2], other[first : first + 2]
        if min(a) >= 0 and min(b) >= 0 and a == b:
            return True
    return False


def same_spans(some: Sequence[Span], others: Sequence[Span]) -> bool:
    """Compare two sets of spans; each span must be in the other set, in any order."""
    some, others = list(filter(is_span, some)), list(filter(is_span, others))
    return all(any(same_span(a, b) for b in others) for a in some) and all(
        any(same_span(a, b) for a in some) for b in others
    )


def has_long(answer: Answer) -> bool:
    """Return True if there is a long answer."""
    return is_span(answer[0])


def has_short(answer: Answer) -> bool:
    """Return True if there is a short answer, or yes or no."""
    return any(map(is_span, answer[1])) or answer[2] != "none"


def long_row(
    gold: Sequence[Answer], predicted: Answer, score: float, *, annotators: int = 2
) -> tuple[float, float, float, float]:
    """Score a long answer, which must be that of any annotator who gave one."""
    has_gold = sum(map(has_long, gold)) >= annotators
    has_answer = has_long(predicted)
    agrees = any(same_span(predicted[0], each[0]) for each in gold if has_long(each))
    return float(has_gold), float(has_answer), float(has_gold and has_answer and agrees), score


def short_row(
    gold: Sequence[Answer], predicted: Answer, score: float, *, annotators: int = 2
) -> tuple[float, float, float, float]:
    """Score short answers: yes or no like any annotator's, or else one annotator's very set of spans."""
    has_gold = sum(map(has_short, gold)) >= annotators
    has_answer = has_short(predicted)
    _, spans, yes_no = predicted
    if yes_no != "none":
        agrees = any(annotation[2] == yes_no for annotation in gold)
    else:
        agrees = any(same_spans(annotation[1], spans) for annotation in gold)
    return float(has_gold), float(has_answer), float(has_gold and has_answer and agrees), score


def at_best_threshold(rows_N4: NDArray[np.float64]) -> dict[str, float]:
    """Return F1, precision, recall and score from which predictions count, where F1 is highest."""
    # Predictions of equal score count together; of several thresholds the highest is taken.
    rows_N4 = rows_N4[np.argsort(-rows_N4[:, 3], kind="stable")]
    score = rows_N4[:, 3]
    last = np.append(score[:-1] != score[1:], True)[: len(score)]
    correct, predicted = (np.cumsum(rows_N4[:, column])[last] for column in (2, 1))
    with np.errstate(invalid="ignore"):
        precision = np.where(predicted > 0, correct / predicted, 0.0)
    recall = correct / max(1.0, rows_N4[:, 0].sum())
    f1 = 2 * precision * recall / np.where(correct > 0, precision + recall, 1.0)
    if not correct.any():
        return dict.fromkeys(("f1", "precision", "recall", "threshold"), 0.0)
    best = int(f1.argmax())
    return {
        "f1": float(f1[best]),
        "precision": float(precision[best]),
        "recall": float(recall[best]),
        "threshold": float(score[last][best]),
    }


def summarise(rows_N8: NDArray[np.float64]) -> dict[str, float]:
    """Return `long_f1`, `short_f1`, … at the best thresholds, and the mean of both F1."""
    metrics = {
        f"{name}_{key}": value
        for name, rows in (("long", rows_N8[:, :4]), ("short", rows_N8[:, 4:]))
        for key, value in at_best_threshold(rows).items()
    }
    return metrics | {"mean_f1": (metrics["long_f1"] + metrics["short_f1"]) / 2}


# One answer from the windows of a Natural Questions page (specification §3.2, ETC's 'joint' way).

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
    return Places(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def joint_span(
    starts: Places, ends: Places, *, max_length: int | None = None, unit: str = "token"
) -> Found | None:
    """Return the best start with the best end at or after it, of equal scores the first."""
    # Where no end qualifies, the best end of all is taken, from the earlier of both to the later.
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
    """Return the candidate that a long span is, or the smallest top-level one around it; or -1."""
    # A span outside all candidates goes to the top-level one with its first token.
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
        said = "yes" if answer_type == YES else "no"
        return PagePrediction(long_span, long.score, (), score, said)
    short_span = (short.start, short.end, -1, -1)
    return PagePrediction(long_span, long.score, (short_span,), short.score, "none")
