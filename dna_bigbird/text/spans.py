"""Short answers: SQuAD's normalisation, exact match and word F1, and the best span of one row."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class Overlap(NamedTuple):
    """How far two answers agree, each from 0 to 1."""

    exact: float
    f1: float
    precision: float
    recall: float


def normalise_answer(text: str) -> str:
    """Lower-case, delete ASCII punctuation and the words a, an, the, make white space single."""
    words = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
    return " ".join(words.split())


def overlap(
    predicted: str, gold: str, normalise: Callable[[str], str] = normalise_answer
) -> Overlap:
    """Compare two answers as multisets of words."""
    # Two empty answers are an exact match with an F1 of 0, as in the official scripts.
    answer, expected = normalise(predicted), normalise(gold)
    exact = float(answer == expected)
    answer_words, expected_words = answer.split(), expected.split()
    shared = sum((Counter(answer_words) & Counter(expected_words)).values())
    if not shared:
        return Overlap(exact, 0.0, 0.0, 0.0)
    precision, recall = shared / len(answer_words), shared / len(expected_words)
    return Overlap(exact, 2 * precision * recall / (precision + recall), precision, recall)


def best_overlap(
    predicted: str, answers: Sequence[str], normalise: Callable[[str], str] = normalise_answer
) -> tuple[float, float]:
    """Return exact match and F1, each its best over all answers that count; 0 without any."""
    overlaps = [overlap(predicted, answer, normalise) for answer in answers]
    exact, f1 = (max((each[i] for each in overlaps), default=0.0) for i in (0, 1))
    return exact, f1


# T tokens, S starts, E ends


class Span(NamedTuple):
    """Both ends are tokens of the answer: `end` is its last one."""

    start: int
    end: int
    score: float
    """Sum of the two scores: of logits, the logarithm of the product of probabilities, shifted."""


def best_span(
    start_T: ArrayLike,
    end_T: ArrayLike,
    *,
    is_allowed_T: ArrayLike | None = None,
    groups_T: ArrayLike | None = None,
    places_T: ArrayLike | None = None,
    max_length: int | None = None,
    top: int = 50,
) -> Span | None:
    """Return the start and end with the highest sum; None if no pair is permitted."""
    # Of equal sums the earlier start wins, then the earlier end. Start and end have the same group;
    # `places_T[end] - places_T[start] + 1` is at most `max_length`.
    start_T, end_T = np.asarray(start_T, np.float64), np.asarray(end_T, np.float64)
    allowed = np.ones(len(start_T), bool) if is_allowed_T is None else np.asarray(is_allowed_T)
    positions = np.arange(len(start_T)) if places_T is None else np.asarray(places_T)
    starts_S, ends_E = best_places(start_T, top, allowed), best_places(end_T, top, allowed)
    permitted_SE = starts_S[:, None] <= ends_E[None, :]
    if groups_T is not None:
        groups = np.asarray(groups_T)
        permitted_SE &= groups[starts_S][:, None] == groups[ends_E][None, :]
    if max_length is not None:
        length_SE = positions[ends_E][None, :] - positions[starts_S][:, None] + 1
        permitted_SE &= length_SE <= max_length
    if not permitted_SE.any():
        return None
    scores_SE = np.where(permitted_SE, start_T[starts_S][:, None] + end_T[ends_E][None, :], -np.inf)
    start, end = np.unravel_index(int(scores_SE.argmax()), scores_SE.shape)
    return Span(int(starts_S[start]), int(ends_E[end]), float(scores_SE[start, end]))


def best_places(
    scores_T: ArrayLike, top: int, is_allowed_T: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Return the places of the `top` highest scores, ascending; of equal ones the earlier."""
    scores_T = np.asarray(scores_T, np.float64)
    positions = (
        np.arange(len(scores_T))
        if is_allowed_T is None
        else np.flatnonzero(np.asarray(is_allowed_T))
    )
    by_score = np.argsort(-scores_T[positions], kind="stable")
    return np.sort(positions[by_score[:top]])
