"""How often labels are on among rows of about equal probability: what calibration is measured by.

Counted in fine cells of probability, so that any number of rows takes the memory of one such table.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# N rows, C fine cells

BINS = 10
CELLS = 1 << 14
"""A cell is a float32 of 0 to 1 without its last 16 bits: it is less than 0.8 % of its value wide."""


@dataclass(frozen=True)
class Reliability:
    """Rows, positives and summed probability of each fine cell of probability."""

    rows: NDArray[np.int64]
    positives: NDArray[np.int64]
    sums: NDArray[np.float64]
    squares: float
    """Sum of the squared differences between probability and label."""

    def __add__(self, other: "Reliability") -> "Reliability":
        """Pool two sets of rows."""
        return Reliability(
            self.rows + other.rows,
            self.positives + other.positives,
            self.sums + other.sums,
            self.squares + other.squares,
        )

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.rows.sum())

    def brier(self) -> float:
        """Return the mean squared difference between probability and label; NaN without a row."""
        return self.squares / self.n if self.n else math.nan

    def table(self, bins: int = BINS) -> list[dict[str, int | float]]:
        """Return rows, mean probability and share of positives in bins of about equal numbers of rows.

        Bins are cut between fine cells, so that equal probabilities are never parted; a cell with
        more than a bin's share of the rows makes the bins fewer. From the lowest probability.
        """
        below_C = np.cumsum(self.rows) - self.rows
        bin_C = ((below_C + self.rows / 2) * bins / max(1, self.n)).astype(int)
        table = []
        for number in np.unique(bin_C[self.rows > 0]):
            here = bin_C == number
            n = int(self.rows[here].sum())
            positives = int(self.positives[here].sum())
            table.append(
                {
                    "n": n,
                    "n_positive": positives,
                    "mean_probability": float(self.sums[here].sum()) / n,
                    "share_positive": positives / n,
                }
            )
        return table

    def ece(self) -> float:
        """Return the expected calibration error; NaN without a row.

        It is the mean over rows of |mean probability - share of positives| of the row's bin.
        """
        if not self.n:
            return math.nan
        off = (abs(x["mean_probability"] - x["share_positive"]) * x["n"] for x in self.table())
        return sum(off) / self.n


def reliability(labels: ArrayLike, probabilities: ArrayLike) -> Reliability:
    """Count rows by probability.

    Args:
        labels, probabilities: (N,) each; 0 or 1, and 0 to 1.

    Raises:
        ValueError: If a probability is outside 0 to 1.
    """
    labels = np.asarray(labels).astype(bool)
    values = np.asarray(probabilities, dtype=np.float32)
    if len(values) and not (values.min() >= 0 and values.max() <= 1):
        raise ValueError("a probability is outside 0 to 1")
    cells = (values + np.float32(0)).view(np.uint32) >> 16  # + 0 turns -0 into 0
    exact = values.astype(np.float64)
    return Reliability(
        rows=np.bincount(cells, minlength=CELLS),
        positives=np.bincount(cells[labels], minlength=CELLS),
        sums=np.bincount(cells, weights=exact, minlength=CELLS),
        squares=float(((exact - labels) ** 2).sum()),
    )
