"""Bootstrap intervals: rows, or groups of rows that belong together, drawn with replacement."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.core.limits import check_memory

# R bootstrap draws, N rows, U units

REPLICATES = 1000


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
