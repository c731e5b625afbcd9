"""Scores of predicted numbers: correlations, R², error. What is not defined is NaN."""

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.bootstrap import Draws

# N rows, G groups of equal values, R bootstrap draws

SCORES = ("pearson", "spearman", "r2", "rmse")


def regression_scores(
    truth_N: NDArray, predicted_N: NDArray, draws: Draws | None = None
) -> dict[str, NDArray[np.float64]]:
    """Return pearson, spearman, r2 and rmse under each draw, (R,); NaN with a constant.

    Example:
        >>> scores = regression_scores(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
        >>> [round(float(scores[name][0]), 4) for name in SCORES]
        [0.982, 1.0, 0.5, 0.5774]
    """
    truth_N, predicted_N = (np.asarray(x, dtype=np.float64) for x in (truth_N, predicted_N))
    if draws is None:
        parts = iter([np.ones((len(truth_N), 1))])
    else:
        parts = (part_UR[draws.units] for part_UR in draws.parts(len(truth_N)))
    scores = [_scores(truth_N, predicted_N, part_NR) for part_NR in parts]
    return {name: np.concatenate([part[name] for part in scores]) for name in SCORES}


def _scores(truth_N: NDArray, predicted_N: NDArray, weights_NR: NDArray) -> dict[str, NDArray]:
    total_R = weights_NR.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares_R = (weights_NR.T @ (truth_N - predicted_N) ** 2) / total_R
        spread_R = _covariance(truth_N[:, None], truth_N[:, None], weights_NR)
        return {
            "pearson": _correlation(truth_N[:, None], predicted_N[:, None], weights_NR),
            "spearman": _correlation(
                mean_ranks(truth_N, weights_NR), mean_ranks(predicted_N, weights_NR), weights_NR
            ),
            "r2": np.where(spread_R > 0, 1 - squares_R / spread_R, np.nan),
            "rmse": np.sqrt(squares_R),
        }


def _covariance(a_NR: NDArray, b_NR: NDArray, weights_NR: NDArray) -> NDArray[np.float64]:
    total_R = weights_NR.sum(axis=0)
    means = [(x * weights_NR).sum(axis=0) / total_R for x in (a_NR, b_NR)]
    return ((a_NR - means[0]) * (b_NR - means[1]) * weights_NR).sum(axis=0) / total_R


def _correlation(a_NR: NDArray, b_NR: NDArray, weights_NR: NDArray) -> NDArray[np.float64]:
    spread_R = _covariance(a_NR, a_NR, weights_NR) * _covariance(b_NR, b_NR, weights_NR)
    scale_R = (np.abs(a_NR).max(axis=0) * np.abs(b_NR).max(axis=0)) ** 2
    # A constant that cannot be written exactly in binary has a spread of rounding errors.
    varies_R = spread_R > 1e-24 * scale_R
    return np.where(
        varies_R,
        _covariance(a_NR, b_NR, weights_NR) / np.sqrt(np.where(varies_R, spread_R, 1)),
        np.nan,
    )


def mean_ranks(values_N: NDArray, weights_NR: NDArray) -> NDArray[np.float64]:
    """Return the mean rank of every row if row n occurs `weights_NR[n]` times, (N, R).

    Example:
        >>> mean_ranks(np.array([5.0, 3.0, 5.0]), np.array([[1.0], [2.0], [1.0]])).ravel().tolist()
        [3.5, 1.5, 3.5]
    """
    order = np.argsort(values_N, kind="stable")
    sorted_values = values_N[order]
    is_first = np.append(True, sorted_values[1:] != sorted_values[:-1])[: len(order)]
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = np.cumsum(is_first) - 1
    weight_GR = np.add.reduceat(weights_NR[order], np.flatnonzero(is_first), axis=0)
    return (np.cumsum(weight_GR, axis=0) - (weight_GR - 1) / 2)[of_row]
