"""Scores of one of several classes: accuracy, Matthews correlation, macro F1. See docs/metrics.md.

The predicted class is the one with the highest probability. Scores follow from the table of true and
predicted classes, so that a bootstrap only adds up such tables. What is not defined is NaN.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dna_bigbird.metrics.bootstrap import Draws

# N rows, K classes, R bootstrap draws, U units

SCORES = ("accuracy", "mcc", "macro_f1")


def confusion_tables(
    labels_NK: NDArray, scores_NK: NDArray, draws: Draws | None = None
) -> NDArray[np.float64]:
    """Count rows by true and predicted class, (R, K, K), of the rows as they are by default.

    Args:
        labels_NK: 0 and 1, one 1 per row.
        scores_NK: Of equal highest scores the first class counts.
    """
    classes = labels_NK.shape[1]
    cell_N = labels_NK.argmax(axis=1) * classes + scores_NK.argmax(axis=1)
    if draws is None:
        return np.bincount(cell_N, minlength=classes**2).reshape(1, classes, classes).astype(float)
    shape = (classes**2, len(draws.times))
    counts = csr_array((np.ones(len(cell_N)), (cell_N, draws.units)), shape=shape)
    tables = [(counts @ part).T for part in draws.parts(classes**2)]
    return np.concatenate(tables).reshape(-1, classes, classes)


def table_scores(tables_RKK: NDArray) -> dict[str, NDArray[np.float64]]:
    """Return accuracy, mcc and macro_f1 of each table, (R,).

    F1 is the mean over the classes that occur among the true or predicted ones. The Matthews
    correlation is that of Gorodkin (2004); it is 0 if all rows are predicted as one class, and NaN if
    all are of one class.

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
    return {
        "accuracy": accuracy_R,
        "mcc": np.where(true_R > 0, mcc_R, np.nan),
        "macro_f1": f1_R,
    }
