"""The official metrics of SQuAD: evaluate-v1.1.py and evaluate-v2.0.py of Rajpurkar et al."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.text.answers import normalise_answer, overlap

# N questions

COLUMNS = ("em", "f1", "has_answer", "has_text", "na_prob")
"""Of `question_row`."""


def best_scores(predicted: str, answers: Sequence[str]) -> tuple[float, float]:
    """Return exact match and F1 of version 1.1, each its best over all answers.

    Example:
        >>> best_scores("the Eiffel Tower", ["eiffel tower", "a tower in Paris"])
        (1.0, 1.0)
    """
    scores = [overlap(predicted, answer) for answer in answers]
    return max(score.exact for score in scores), max(score.f1 for score in scores)


def question_row(
    predicted: str, na_prob: float, answers: Sequence[str]
) -> tuple[float, float, float, float, float]:
    """Return `COLUMNS` of a question of version 2.0, before any threshold.

    Answers that are empty after normalisation do not count; where none is left, only a prediction that is
    empty after normalisation is right.

    Args:
        predicted: Text, "" for no answer.
        na_prob: Probability of no answer.
        answers: Of all annotators; none for a question without an answer.
    """
    texts = [answer for answer in answers if normalise_answer(answer)]
    if texts:
        exact, f1 = best_scores(predicted, texts)
    else:
        exact = f1 = float(normalise_answer(predicted) == "")
    return exact, f1, float(bool(answers)), float(bool(predicted)), na_prob


def best_threshold(
    scores_N: NDArray[np.float64], rows_N5: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the highest mean score over all thresholds of `na_prob`, and the smallest such threshold.

    The official search adds one question after the other in the order of its probability, questions of
    equal probability too. It starts with every prediction empty, at the threshold 0.

    Args:
        scores_N: Exact match or F1 of `rows_N5`, `COLUMNS` of all questions.
    """
    _, _, has_answer_N, has_text_N, na_prob_N = rows_N5.T
    order = np.argsort(na_prob_N, kind="stable")
    steps_N = np.where(has_answer_N == 1, scores_N, -has_text_N)[order]
    totals = np.cumsum(np.concatenate([[(1 - has_answer_N).sum()], steps_N]))
    best = int(totals.argmax())
    return float(totals[best] / len(rows_N5)), float(na_prob_N[order][best - 1]) if best else 0.0


def with_threshold(
    scores_N: NDArray[np.float64], rows_N5: NDArray[np.float64], threshold: float
) -> NDArray[np.float64]:
    """Return the scores of questions where predictions with `na_prob` above a threshold are empty, (N,)."""
    return np.where(rows_N5[:, 4] > threshold, 1 - rows_N5[:, 2], scores_N)


def summarise(rows_N5: NDArray[np.float64], threshold: float) -> dict[str, float]:
    """Return the metrics of version 2.0, from 0 to 1.

    Returns:
        `em` and `f1` at the threshold, of all questions, of those with an answer (`has_answer_`) and of
        those without (`no_answer_`), if there are any; `best_em` and `best_f1` at the best thresholds
        `best_em_threshold` and `best_f1_threshold`.

    Args:
        rows_N5: `COLUMNS` of every question.
    """
    has_answer_N = rows_N5[:, 2] == 1
    scores: dict[str, float] = {}
    for column, name in enumerate(("em", "f1")):
        scores_N = with_threshold(rows_N5[:, column], rows_N5, threshold)
        scores[name] = float(scores_N.mean())
        for prefix, chosen_N in (("has_answer", has_answer_N), ("no_answer", ~has_answer_N)):
            if chosen_N.any():
                scores[f"{prefix}_{name}"] = float(scores_N[chosen_N].mean())
    for column, name in enumerate(("em", "f1")):
        best, at = best_threshold(rows_N5[:, column], rows_N5)
        scores |= {f"best_{name}": best, f"best_{name}_threshold": at}
    return scores
