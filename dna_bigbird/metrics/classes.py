"""Scores of predicted classes. What is not defined is NaN. See docs/text-classification.md.

Every score is a function of per-example statistics, so that a bootstrap can draw examples.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dna_bigbird.metrics.binary import confusion

# N examples


def outcome_counts(gold: Sequence[str], predicted: Sequence[str]) -> NDArray[np.float64]:
    """Return true positives, false positives and false negatives of each example, (N, 3).

    With one class per example, a wrong one is a false positive of the class named and a false
    negative of the class missed.

    Raises:
        ValueError: If the two are not equally long.
    """
    right = np.array([a == b for a, b in zip(gold, predicted, strict=True)], dtype=np.float64)
    return np.stack([right, 1 - right, 1 - right], axis=1).reshape(-1, 3)


def micro_f1(counts_N3: NDArray[np.float64]) -> float:
    """Return F1 of the outcomes added up over all classes; with one class per example, accuracy.

    Example:
        >>> micro_f1(outcome_counts(["a", "b", "c", "c"], ["a", "b", "a", "c"]))
        0.75
    """
    right, wrong, missed = counts_N3.sum(axis=0)
    return share(2 * right, 2 * right + wrong + missed)


def share(part: float, whole: float) -> float:
    """Return part / whole; NaN if there is nothing."""
    return float(part / whole) if whole else float("nan")


def accuracy(gold: NDArray, predicted: NDArray) -> float:
    """Return the share of equal entries."""
    return share(np.sum(gold == predicted), len(gold))


def f1(gold: NDArray, predicted: NDArray) -> float:
    """Return F1 of class 1 against class 0; NaN without a gold 1."""
    return float(confusion(gold, predicted, 0.5).f1()[0])


def matthews(gold: NDArray, predicted: NDArray) -> float:
    """Return the Matthews correlation of classes 0 and 1.

    NaN unless both occur in `gold`; 0 if all predictions are the same.
    """
    return float(confusion(gold, predicted, 0.5).mcc()[0])


def spearman(gold: NDArray, predicted: NDArray) -> float:
    """Return Spearman's rank correlation, ties at their mean rank; NaN if one side is constant."""
    return _correlation(stats.spearmanr, gold, predicted)


def pearson(gold: NDArray, predicted: NDArray) -> float:
    """Return Pearson's correlation; NaN if one side is constant."""
    return _correlation(stats.pearsonr, gold, predicted)


def _correlation(function, gold: NDArray, predicted: NDArray) -> float:
    if len(gold) < 2:
        return float("nan")
    with warnings.catch_warnings():  # of a constant side, which gives NaN
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        return float(function(gold, predicted).statistic)
