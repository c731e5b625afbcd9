"""Do probabilities mean what they say, and what would a correction make of them?

Positives weighted by 8 in training make probabilities too high; the order of the rows, and with it
AUROC and AUPRC, does not show it. Here it is measured, and what a correction with two numbers
(Platt 1999), fitted on validation, would make of it. Predictions themselves are never changed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from dna_bigbird.core.rounding import rounded
from dna_bigbird.metrics.label_areas import columns

# N rows, L labels, C fine cells: any number of rows takes the memory of one table of cells

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
        """Return bins of about equal numbers of rows, from the lowest probability."""
        # Bins are cut between fine cells: equal probabilities are never parted.
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
        """Return the mean over rows of |mean probability - share of positives| of their bins."""
        if not self.n:
            return math.nan
        off = (abs(x["mean_probability"] - x["share_positive"]) * x["n"] for x in self.table())
        return sum(off) / self.n


def reliability(labels: ArrayLike, probabilities: ArrayLike) -> Reliability:
    """Count rows by probability, (N,) each; those whose label is NaN are left out."""
    measured = ~np.isnan(labels)
    labels = np.asarray(labels)[measured].astype(bool)
    values = np.asarray(probabilities, dtype=np.float32)[measured]
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


RAW, CALIBRATED = "raw", "calibrated"
SMALLEST = 1e-7
"""Nearer to 0 or 1 no logarithm is taken of a probability: about the rounding of float32."""


@dataclass(frozen=True)
class Platt:
    """A correction of probabilities on the logit scale: logit p' = slope · logit p + bias."""

    slope: float = 1.0
    bias: float = 0.0

    def __call__(self, probabilities: ArrayLike) -> NDArray[np.float64]:
        """Return corrected probabilities."""
        return expit(self.slope * _logit(np.asarray(probabilities, dtype=np.float64)) + self.bias)


def fit_platt(table: Reliability) -> Platt | None:
    """Fit the correction on validation rows; None without both classes or a rising slope."""
    used = table.rows > 0
    rows, positives = table.rows[used].astype(float), table.positives[used].astype(float)
    total, total_negative = positives.sum(), (rows - positives).sum()
    if not total or not total_negative:
        return None
    # After Platt, so that it exists for rows that are separated perfectly.
    high, low = (total + 1) / (total + 2), 1 / (total_negative + 2)
    targets = positives * high + (rows - positives) * low
    logits = _logit(table.sums[used] / rows)

    def loss(at: NDArray) -> tuple[float, NDArray]:
        """Cross-entropy a row, and its gradient."""
        z = at[0] * logits + at[1]
        nats = (rows * np.logaddexp(0, z) - targets * z).sum()
        off = rows * expit(z) - targets
        return nats / table.n, np.array([(off * logits).sum(), off.sum()]) / table.n

    slope, bias = minimize(loss, (1.0, 0.0), jac=True, method="BFGS").x
    # Rounded, so that the last bits of another processor's logarithms change no result.
    return Platt(round(float(slope), 4), round(float(bias), 4)) if slope > 0 else None


def _logit(probabilities: NDArray) -> NDArray:
    inside = np.clip(probabilities, SMALLEST, 1 - SMALLEST)
    return np.log(inside) - np.log1p(-inside)


@dataclass(frozen=True)
class Calibration:
    """How the probabilities of the test rows fare as they are (`raw`) and corrected (`calibrated`)."""

    platt: Platt | None
    """One correction for all labels, fitted on the validation cells of all of them: the weight of
    positives shifts all equally, and many labels have too few positives there for their own."""
    labels: list[dict[str, float]]
    """Brier score and calibration error of each label, both ways."""
    groups: dict[str, dict[str, Reliability]]
    """By group and way; `calibrated` is not there without a correction."""

    def pooled(self, way: str) -> Reliability:
        """Return the reliability over all labels."""
        return _sum(tables[way] for tables in self.groups.values() if way in tables)

    def metrics(self) -> dict[str, float]:
        """Return Brier score and calibration error over all cells, and the correction."""
        platt = self.platt or Platt(math.nan, math.nan)
        return {
            **_scores(self.pooled(RAW), self.pooled(CALIBRATED)),
            "calibration_slope": platt.slope,
            "calibration_bias": platt.bias,
        }

    def table(self) -> list[dict[str, str | int | float]]:
        """Return the bins of all labels together (`all`) and, if there are several, of each group."""
        parts = {"all": {way: self.pooled(way) for way in (RAW, CALIBRATED)}}
        if len(self.groups) > 1:
            parts |= self.groups
        return [
            {"group": group, "probabilities": way, "bin": number, **rounded(row)}
            for group, tables in parts.items()
            for way, pooled in tables.items()
            for number, row in enumerate(pooled.table(), start=1)
        ]


def calibrate(
    validation: tuple[NDArray, NDArray], test: tuple[NDArray, NDArray], groups: Sequence[str]
) -> Calibration:
    """Fit the correction on validation and measure the test rows, (N, L), with and without it."""
    platt = fit_platt(_sum(reliability(*column) for column in columns(*validation)))
    scores, pooled = [], {}
    for group, (labels, probabilities) in zip(groups, columns(*test), strict=True):
        tables = {RAW: reliability(labels, probabilities)}
        if platt:
            tables[CALIBRATED] = reliability(labels, platt(probabilities))
        scores.append(_scores(tables[RAW], tables.get(CALIBRATED, _sum([]))))
        before = pooled.get(group, {})
        pooled[group] = {way: _sum([before[way], x]) if before else x for way, x in tables.items()}
    return Calibration(platt, scores, pooled)


def _scores(raw: Reliability, calibrated: Reliability) -> dict[str, float]:
    return {
        f"{name}{ending}": getattr(table, name)()
        for ending, table in (("", raw), ("_calibrated", calibrated))
        for name in ("brier", "ece")
    }


def _sum(parts: Iterable[Reliability]) -> Reliability:
    return sum(parts, start=reliability([], []))
