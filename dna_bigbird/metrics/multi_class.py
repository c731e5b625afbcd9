"""Scores of one of several classes: accuracy, Matthews correlation, macro F1. See docs/reference/metrics.md.

The predicted class is the one with the highest probability. Scores follow from the table of true and
predicted classes, so that a bootstrap only adds up such tables. What is not defined is NaN.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.regression import regression_scores

# N rows, K classes, R bootstrap draws, U units


def outcome_counts(gold: Sequence[str], predicted: Sequence[str]) -> NDArray[np.float64]:
    """Return true positives, false positives and false negatives of each example, (N, 3)."""
    # A wrong class is a false positive of the class named and a false negative of the one missed.
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
    """Return the Matthews correlation of classes 0 and 1; NaN unless `gold` has both."""
    return float(confusion(gold, predicted, 0.5).mcc()[0])


def spearman(gold: NDArray, predicted: NDArray) -> float:
    """Return Spearman's rank correlation, ties at their mean rank; NaN if one side is constant."""
    return _correlation("spearman", gold, predicted)


def pearson(gold: NDArray, predicted: NDArray) -> float:
    """Return Pearson's correlation; NaN if one side is constant."""
    return _correlation("pearson", gold, predicted)


def _correlation(name: str, gold: NDArray, predicted: NDArray) -> float:
    return float(regression_scores(gold, predicted)[name][0]) if len(gold) else float("nan")


SCORES = ("accuracy", "mcc", "macro_f1")


def confusion_tables(
    labels_NK: NDArray, scores_NK: NDArray, draws: Draws | None = None
) -> NDArray[np.float64]:
    """Count rows by true and predicted class, (R, K, K); the first of equal scores counts."""
    classes = labels_NK.shape[1]
    cell_N = labels_NK.argmax(axis=1) * classes + scores_NK.argmax(axis=1)
    if draws is None:
        return np.bincount(cell_N, minlength=classes**2).reshape(1, classes, classes).astype(float)
    shape = (classes**2, len(draws.times))
    counts = csr_array((np.ones(len(cell_N)), (cell_N, draws.units)), shape=shape)
    tables = [(counts @ part).T for part in draws.parts(classes**2)]
    return np.concatenate(tables).reshape(-1, classes, classes)


def table_scores(tables_RKK: NDArray) -> dict[str, NDArray[np.float64]]:
    """Return accuracy, mcc (Gorodkin 2004) and macro_f1 (of classes that occur), (R,) each.

    Example:
        >>> scores = table_scores(np.array([[[2.0, 0.0], [1.0, 1.0]]]))
        >>> [round(float(scores[name][0]), 4) for name in SCORES]
        [0.75, 0.5774, 0.7333]
    """
    true_RK, called_RK = tables_RKK.sum(axis=2), tables_RKK.sum(axis=1)
    right_RK = np.einsum("rkk->rk", tables_RKK)
    total_R, right_R = true_RK.sum(axis=1), right_RK.sum(axis=1)
    covariance_R = right_R * total_R - (true_RK * called_RK).sum(axis=1)
    true_R = total_R**2 - (true_RK**2).sum(axis=1)
    called_R = total_R**2 - (called_RK**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mcc_R = np.where(called_R > 0, covariance_R / np.sqrt(true_R * called_R), 0.0)
        f1_RK = 2 * right_RK / (true_RK + called_RK)
        occurs_RK = true_RK + called_RK > 0
        f1_R = np.where(occurs_RK, f1_RK, 0).sum(axis=1) / occurs_RK.sum(axis=1)
        accuracy_R = right_R / total_R
    return {"accuracy": accuracy_R, "mcc": np.where(true_R > 0, mcc_R, np.nan), "macro_f1": f1_R}
