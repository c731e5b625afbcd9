"""Bootstrap intervals: rows, or groups of rows that belong together, drawn with replacement."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

# R bootstrap draws, N rows, L labels

REPLICATES = 1000
CELLS_AT_ONCE = 200_000
"""Weights held at a time, few enough for the cache; part of no result."""


def bootstrap_weights(
    count: int, *, replicates: int, seed: int, units: ArrayLike | None = None
) -> Iterator[NDArray[np.float64]]:
    """Yield how often each row is drawn, in blocks of shape (some of R, N).

    As many units as there are are drawn with replacement; a unit brings all its rows. Draw `r`
    depends on the seed and `r` only, so two models scored on the same rows with the same seed
    are compared on the same draws.

    Args:
        count: Number of rows N.
        units: (N,), rows of equal value are drawn together; each row alone by default.
    """
    of_row = np.arange(count)
    if units is not None:
        of_row = np.unique(np.asarray(units), return_inverse=True)[1].reshape(-1)
    total = int(of_row.max()) + 1 if count else 0
    per_block = max(1, CELLS_AT_ONCE // max(1, count))
    for first in range(0, replicates, per_block):
        block = np.empty((min(per_block, replicates - first), count))
        for i in range(len(block)):
            drawn = np.random.default_rng([seed, first + i]).integers(0, max(1, total), total)
            block[i] = np.bincount(drawn, minlength=total)[of_row] if total else 0
        yield block


def replicate(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    count: int,
    *,
    replicates: int,
    seed: int,
    units: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return a statistic under every draw, (R, ...); it maps weights (r, N) to (r, ...)."""
    draws = bootstrap_weights(count, replicates=replicates, seed=seed, units=units)
    return np.concatenate([statistic(weights) for weights in draws])


def percentile_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Return the central interval of bootstrap values.

    Draws on which the statistic is not defined (NaN) are left out; if they are half or more,
    both ends are NaN.

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
