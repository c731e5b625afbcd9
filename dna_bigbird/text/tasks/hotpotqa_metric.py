"""HotpotQA: answers and supporting facts from a model's scores, and the official metric.

Definitions of the official script (hotpot_evaluate_v1.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.text.spans import Span, best_span, normalise_answer, overlap

# T tokens, U units: titles and sentences, N examples

Fact = tuple[str, int]
"""Title of a paragraph and number of one of its sentences, from 0."""

CLOSED = ("yes", "no", "noanswer")
"""Answers that share no part with another one."""
METRICS = tuple(
    prefix + name for prefix in ("", "sp_", "joint_") for name in ("em", "f1", "prec", "recall")
)
"""The official names; `sp` is for supporting facts."""


@dataclass(frozen=True)
class HotpotQaPrediction:
    """The prediction for one question."""

    answer: str
    facts: tuple[Fact, ...]
    threshold: float | None = None
    """Probability from which a sentence is a supporting fact, where it was searched."""


def answer_span(
    start_T: ArrayLike,
    end_T: ArrayLike,
    unit_of_token_T: NDArray[np.integer],
    is_supporting_U: NDArray[np.bool_],
    places_T: ArrayLike,
    *,
    max_length: int,
    top: int = 50,
) -> Span | None:
    """Return the best span inside one title or sentence that is predicted as supporting.

    If there is none, any title or sentence will do: an answer in the wrong place may be right, no
    answer cannot.

    Args:
        unit_of_token_T: Number of the title or sentence of each token; -1 for tokens that can
            neither begin nor end an answer.
        places_T: Position of each token in the unit of `max_length`.

    Returns:
        None only if no span at all is short enough.
    """
    inside_T = unit_of_token_T >= 0
    supporting_T = np.zeros(len(inside_T), bool)
    supporting_T[inside_T] = is_supporting_U[unit_of_token_T[inside_T]]
    for allowed_T in (supporting_T, inside_T):
        span = best_span(
            start_T,
            end_T,
            is_allowed_T=allowed_T,
            groups_T=unit_of_token_T,
            places_T=places_T,
            max_length=max_length,
            top=top,
        )
        if span is not None:
            return span
    return None


def question_scores(
    predicted_answer: str,
    predicted_facts: Sequence[Fact],
    answer: str,
    facts: Sequence[Fact],
) -> list[float]:
    """Return `METRICS` of one question, each from 0 to 1; their means are the official figures.

    Example:
        >>> scores = question_scores("Paris, France", [("Eiffel", 0)], "Paris", [("Eiffel", 0)])
        >>> dict(zip(METRICS, scores))["joint_recall"]
        1.0
    """
    of_answer = list(overlap(predicted_answer, answer))
    normal, gold_normal = normalise_answer(predicted_answer), normalise_answer(answer)
    if normal != gold_normal and (normal in CLOSED or gold_normal in CLOSED):
        of_answer[1:] = [0.0, 0.0, 0.0]
    of_facts = fact_scores(predicted_facts, facts)
    em, precision, recall = (of_answer[i] * of_facts[i] for i in (0, 2, 3))
    return [*of_answer, *of_facts, em, _f1(precision, recall), precision, recall]


def fact_scores(predicted: Sequence[Fact], gold: Sequence[Fact]) -> list[float]:
    """Return exact match, F1, precision and recall of two sets of supporting facts.

    Two empty sets match exactly with an F1 of 0, as in the official script.
    """
    facts, expected = set(predicted), set(gold)
    right = len(facts & expected)
    precision = right / len(facts) if facts else 0.0
    recall = right / len(expected) if expected else 0.0
    return [float(facts == expected), _f1(precision, recall), precision, recall]


def _f1(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total > 0 else 0.0
