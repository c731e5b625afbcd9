"""Bootstrap intervals: rows, or groups of rows that belong together, drawn with replacement."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.core.limits import check_memory

# R bootstrap draws, N rows, U units, S scores

REPLICATES = 1000
LARGEST_SHIFT = 0.5
"""Of quantiles, in standard errors, for the bias of the draws."""


@dataclass(frozen=True)
class Draws:
    """How often each unit is drawn in every draw; a unit brings all its rows."""

    units: NDArray[np.int32]
    """(N,), the unit of each row, 0 to U - 1."""
    times: NDArray[np.uint16]
    """(U, R)."""

    def __len__(self) -> int:
        return self.times.shape[1]

    def parts(self, rows: int, cells: int = 1 << 21) -> Iterator[NDArray[np.float64]]:
        """Yield all draws, (U, some of R) each, so that a table of `rows` a draw stays small."""
        step = max(1, cells // max(1, rows, len(self.times)))
        for first in range(0, len(self), step):
            yield self.times[:, first : first + step].astype(np.float64)


def draw_units(count: int, *, replicates: int, seed: int, units: ArrayLike | None = None) -> Draws:
    """Draw as many units (rows of equal value, or each row) as there are, `replicates` times."""
    of_row = np.arange(count)
    if units is not None:
        of_row = np.unique(np.asarray(units), return_inverse=True)[1].reshape(-1)
    total = int(of_row.max()) + 1 if count else 0
    check_memory(f"--replicates {replicates}", total * replicates * np.dtype(np.uint16).itemsize)
    times_UR = np.zeros((total, replicates), dtype=np.uint16)
    for r in range(replicates if total else 0):
        # By seed and r only: two models scored on the same rows are compared on the same draws.
        drawn = np.random.default_rng([seed, r]).integers(0, total, total)
        times_UR[:, r] = np.bincount(drawn, minlength=total)
    return Draws(of_row.astype(np.int32), times_UR)


def bootstrap_intervals(
    values_S: ArrayLike, drawn_SR: ArrayLike, draws: Draws, level: float = 0.95
) -> NDArray[np.float64]:
    """Return the BCa interval of each score, (S, 2); NaN of one unit, or if half or more draws are not defined.

    Bias-corrected and accelerated (Efron 1987): a positive that is drawn twice ranks no lower than
    itself, so draws of average precision are too high, and their quantiles too. A large bias moves the
    draws instead. The interval holds the score. With few units, or few that matter, the interval is widened by Student's t
    (docs/reference/metrics.md).

    Args:
        values_S: The scores of the rows as they are, or one score.
        drawn_SR: The same under each of `draws`, or (R,) of one score.

    Example:
        >>> draws = draw_units(50, replicates=1000, seed=0)
        >>> means_R = np.arange(50) @ draws.times / 50
        >>> bootstrap_intervals(24.5, means_R, draws).round(1).tolist()
        [[20.3, 28.5]]
    """
    from scipy import special  # --help loads no scipy

    values_S, drawn_SR = np.atleast_1d(values_S), np.atleast_2d(drawn_SR)
    is_defined_SR = np.isfinite(drawn_SR)
    is_known_S = (2 * is_defined_SR.sum(axis=1) > drawn_SR.shape[1]) & np.isfinite(values_S)
    ends_S2 = np.full((len(values_S), 2), np.nan)
    if len(draws.times) < 2:  # one unit alone has no scatter
        return ends_S2
    accelerations_S, reaches_S = _shapes(drawn_SR, is_defined_SR, draws, level)
    for s in np.flatnonzero(is_known_S):
        drawn = drawn_SR[s, is_defined_SR[s]]
        # Half of the equal draws are below; a share of 0 or 1 has no normal quantile.
        below = ((drawn < values_S[s]).mean() + (drawn <= values_S[s]).mean()) / 2
        shift = special.ndtri(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
        # With more bias the quantiles are those of the last draws: the interval would have no width.
        within = np.clip(shift, -LARGEST_SHIFT, LARGEST_SHIFT)
        moved = within + np.array([-reaches_S[s], reaches_S[s]])
        scale = np.maximum(1 - accelerations_S[s] * moved, 1e-9)  # beyond the pole: the last draw
        ends_S2[s] = np.quantile(drawn, special.ndtr(within + moved / scale))
        ends_S2[s] += 2 * (shift - within) * drawn.std()
        # Of a score at the end of its range all draws lie to one side, and the shift would pass it.
        ends_S2[s] = min(ends_S2[s, 0], values_S[s]), max(ends_S2[s, 1], values_S[s])
    return ends_S2


def _shapes(
    drawn_SR: NDArray, is_defined_SR: NDArray, draws: Draws, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return acceleration and half-width in standard errors of each score, (S,)."""
    from scipy import special

    # What a unit adds to a score is the covariance of the score and of how often the unit is drawn:
    # a jackknife would compute every score again without each unit.
    count_S = np.maximum(is_defined_SR.sum(axis=1), 1)
    mean_S = np.where(is_defined_SR, drawn_SR, 0.0).sum(axis=1) / count_S
    centred_SR = np.where(is_defined_SR, drawn_SR - mean_S[:, None], 0.0)
    variance_S = (centred_SR**2).sum(axis=1) / count_S
    varies_S = variance_S > 0
    scaled_SR = centred_SR / (count_S * np.sqrt(np.where(varies_S, variance_S, 1)))[:, None]
    units, first = len(draws.times), 0
    added_SU = np.zeros((len(drawn_SR), units))
    for times_UR in draws.parts(units):
        last = first + times_UR.shape[1]
        added_SU += scaled_SR[:, first:last] @ times_UR.T
        first = last
    # Each has an error of variance 1 / R, which leaves the sum of cubes as it is.
    fourths_S = (added_SU**4).sum(axis=1) - 6 / count_S - 3 * units / count_S**2
    # Degrees of freedom: 2 over the relative variance of the variance, U - 1 for normal values.
    freedom_S = np.clip(2 / np.maximum(fourths_S - 1 / units, 1e-9), 1, units - 1)
    reach_S = special.stdtrit(freedom_S, (1 + level) / 2) * math.sqrt(units / (units - 1))
    return (added_SU**3).sum(axis=1) / 6, reach_S


def percentile_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the central interval of the defined values; NaN if half or more are not defined.

    Example:
        >>> percentile_interval(range(101), level=0.5)
        (25.0, 75.0)
    """
    values = np.asarray(values, dtype=np.float64)
    defined = values[np.isfinite(values)]
    if not 2 * len(defined) > len(values):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
