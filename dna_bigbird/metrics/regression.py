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


# --- The values of tracks: many bins of few blocks, so the draws weight sums over blocks ---

# W windows, P bins of a window, U blocks


def track_scores(
    truth_WP: NDArray, predicted_WP: NDArray, draws: Draws
) -> dict[str, tuple[float, NDArray[np.float64]]]:
    """Return the scores of one track, each with its values under the draws of windows, (R,).

    pearson, spearman, r2 and rmse are along the measured bins of all windows; spearman under a draw correlates the
    ranks among all bins. `profile_pearson` is the mean over windows of the correlation within a window (0 for a
    constant prediction), where the truth varies; `total_pearson` is that of the windows' means.

    Args:
        truth_WP: NaN where a bin was not measured.
    """
    truth_WP, predicted_WP = (np.asarray(x, dtype=np.float64) for x in (truth_WP, predicted_WP))
    known_WP = ~np.isnan(truth_WP)
    units_W, times_UR = draws.units, draws.times.astype(np.float64)
    units_N = np.repeat(units_W, truth_WP.shape[1]).reshape(known_WP.shape)[known_WP]
    truth_N, predicted_N = truth_WP[known_WP], predicted_WP[known_WP]
    unit_N1 = np.ones((len(truth_N), 1))
    ranks = [mean_ranks(x, unit_N1)[:, 0] for x in (truth_N, predicted_N)]
    whole = _of_blocks(truth_N, predicted_N, units_N, times_UR)
    has_W = known_WP.any(axis=1)
    count_W = np.maximum(known_WP.sum(axis=1), 1)
    means = [np.where(known_WP, x, 0).sum(axis=1) / count_W for x in (truth_WP, predicted_WP)]
    away = [
        np.where(known_WP, x - mean[:, None], 0)
        for x, mean in zip((truth_WP, predicted_WP), means, strict=True)
    ]
    spreads = [(x**2).sum(axis=1) for x in away]
    # A constant that cannot be written exactly in binary has a spread of rounding errors.
    varies_W, predicted_varies_W = (
        spread > 1e-12 * np.maximum(mean**2, 1e-12)
        for spread, mean in zip(spreads, means, strict=True)
    )
    scale_W = np.sqrt(np.where(predicted_varies_W, spreads[0] * spreads[1], np.inf))
    profile_W = (away[0] * away[1]).sum(axis=1) / np.where(scale_W > 0, scale_W, 1)
    sums_2U = np.stack(
        [np.bincount(units_W[varies_W], x[varies_W], len(times_UR)) for x in (profile_W, varies_W)]
    )
    drawn_2R = np.column_stack([sums_2U.sum(axis=1), sums_2U @ times_UR])
    with np.errstate(invalid="ignore", divide="ignore"):
        profile_R = drawn_2R[0] / drawn_2R[1]
    totals = _of_blocks(*(x[has_W] for x in means), units_W[has_W], times_UR)
    scores = {
        "pearson": whole["pearson"],
        "spearman": _of_blocks(*ranks, units_N, times_UR)["pearson"],
        "profile_pearson": profile_R,
        "total_pearson": totals["pearson"],
        "r2": whole["r2"],
        "rmse": whole["rmse"],
    }
    return {name: (float(drawn_R[0]), drawn_R[1:]) for name, drawn_R in scores.items()}


def _of_blocks(
    truth_N: NDArray, predicted_N: NDArray, units_N: NDArray, times_UR: NDArray
) -> dict[str, NDArray[np.float64]]:
    """Return pearson, r2 and rmse of the rows, then under each draw, (1 + R,), from sums over blocks."""
    if not len(truth_N):
        return dict.fromkeys(("pearson", "r2", "rmse"), np.full(1 + times_UR.shape[1], np.nan))
    error_N = truth_N - predicted_N
    # About their means, so that the squares of large values do not hide their differences.
    a, b = truth_N - truth_N.mean(), predicted_N - predicted_N.mean()
    columns = (np.ones(len(a)), a, b, a * a, b * b, a * b, error_N**2)
    sums_7U = np.stack([np.bincount(units_N, x, len(times_UR)) for x in columns])
    sums_7R = np.column_stack([sums_7U.sum(axis=1), sums_7U @ times_UR])
    with np.errstate(invalid="ignore", divide="ignore"):
        a_R, b_R, aa_R, bb_R, ab_R, squares_R = sums_7R[1:] / sums_7R[0]
        spreads = [aa_R - a_R**2, bb_R - b_R**2]
        limits = [1e-12 * max(1e-300, np.abs(x).max() ** 2) for x in (truth_N, predicted_N)]
        varies_R = (spreads[0] > limits[0]) & (spreads[1] > limits[1])
        scale_R = np.sqrt(np.where(varies_R, spreads[0] * spreads[1], 1))
        return {
            "pearson": np.where(varies_R, (ab_R - a_R * b_R) / scale_R, np.nan),
            "r2": np.where(spreads[0] > limits[0], 1 - squares_R / spreads[0], np.nan),
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
