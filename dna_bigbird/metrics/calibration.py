"""Do probabilities mean what they say: their measure, and the correction that `finetune` fits.

Positives weighted by 8 in training make probabilities too high, and a long training makes them too extreme; the
order of the rows, and with it AUROC and AUPRC, does not show it. The correction is fitted on validation rows
and stored in the bundle: Platt scaling of labels (Platt 1999), temperature scaling of classes (Guo et al. 2017).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from dna_bigbird.core.rounding import rounded
from dna_bigbird.metrics.label_areas import columns
from dna_bigbird.models.label_types import MULTI_CLASS
from dna_bigbird.models.scaling import Scaling, log_odds

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


# --- The correction, fitted on validation rows ---

SMALLEST = 1e-7
"""Nearer to 0 or 1 no logarithm is taken of a probability: about the rounding of float32."""
FEWEST_FOR_BIAS, FEWEST_FOR_SLOPE = 10, 20
"""Positives, and negatives, of a label for a bias, and for a slope too: ten per number. Of all labels together (rows
of classes) as for a slope, or nothing is fitted."""
LARGEST_TEMPERATURE = 100.0
MOST_POOLED = 10_000_000
"""Labels times rows for the fit of all labels together; of more, evenly spaced rows."""


def fit_scaling(labels_NL: NDArray, probabilities_NL: NDArray, label_type: str) -> Scaling | None:
    """Fit the correction of labels or classes on validation rows; None if there are too few.

    Labels: logistic regression of each label on its log odds. One with few positives or negatives has the slope of
    all labels together, with very few their bias too. None also if higher probabilities are not more likely
    positive. Classes: the temperature with the lowest cross-entropy.
    """
    if label_type == MULTI_CLASS:
        return _fit_temperature(labels_NL, probabilities_NL)
    logits_NL = log_odds(np.clip(probabilities_NL.astype(np.float64), SMALLEST, 1 - SMALLEST))
    pairs = list(columns(logits_NL, labels_NL))
    every = 1 + labels_NL.size // MOST_POOLED
    pooled = _platt(logits_NL[::every].ravel(), labels_NL[::every].ravel())
    if pooled is None:
        return None
    # Rounded, so that the last bits of another processor's logarithms change no result.
    fits = [_platt(*pair) or _platt(*pair, slope=pooled[0]) or pooled for pair in pairs]
    slopes, biases = ([round(float(x), 4) for x in values] for values in zip(*fits, strict=True))
    return Scaling(slopes, biases, n=len(labels_NL))


def fit_lines(truth_NL: NDArray, values_NL: NDArray) -> tuple[NDArray, NDArray]:
    """Return slope and intercept (L,) of least squares of targets on predictions of validation rows.

    1 and 0 with too few rows or a slope that does not rise.

    Example:
        >>> values = np.linspace(0, 1, 50)[:, None]
        >>> [x.round(6).tolist() for x in fit_lines(3 + 2 * values, values)]
        [[2.0], [3.0]]
    """
    off_NL = values_NL - values_NL.mean(axis=0)
    spread_L = (off_NL**2).sum(axis=0)
    slopes_L = (off_NL * truth_NL).sum(axis=0) / np.where(spread_L > 0, spread_L, 1)
    is_fitted_L = (slopes_L > 0) & (len(values_NL) >= FEWEST_FOR_SLOPE)
    slopes_L = np.where(is_fitted_L, slopes_L, 1)
    shifts_L = (truth_NL - slopes_L * values_NL).mean(axis=0)
    return slopes_L, np.where(is_fitted_L, shifts_L, 0)


def _platt(
    logits: NDArray, labels: NDArray, slope: float | None = None
) -> tuple[float, float] | None:
    """Return slope and bias of highest likelihood, or the bias for a slope; None with few rows or a falling slope."""
    measured = ~np.isnan(labels)
    logits, labels = logits[measured], labels[measured]
    total, n = int(labels.sum()), len(labels)
    if min(total, n - total) < (FEWEST_FOR_SLOPE if slope is None else FEWEST_FOR_BIAS):
        return None
    spread = logits.std() if slope is None else 1.0
    if not spread:
        return None
    # After Platt, so that it exists for rows that are separated perfectly.
    targets = np.where(labels, (total + 1) / (total + 2), 1 / (n - total + 2))
    middle = logits.mean()
    x = (logits - middle) / spread

    def loss(at: NDArray) -> tuple[float, NDArray]:
        """Cross-entropy per row, and its gradient."""
        z = (at[0] if slope is None else slope) * x + at[-1]
        off = expit(z) - targets
        gradient = [(off * x).mean()] if slope is None else []
        return (np.logaddexp(0, z) - targets * z).mean(), np.array([*gradient, off.mean()])

    start = (spread, middle) if slope is None else (slope * middle,)
    *own, height = minimize(loss, start, jac=True, method="BFGS").x.tolist()
    rising = own[0] / spread if own else slope
    return (rising, height - rising * middle) if round(rising, 4) > 0 else None


def _fit_temperature(labels_NK: NDArray, probabilities_NK: NDArray) -> Scaling | None:
    if len(labels_NK) < FEWEST_FOR_SLOPE:
        return None
    log_p_NK = np.log(np.clip(probabilities_NK, SMALLEST, 1).astype(np.float64))
    rows, classes = labels_NK.shape
    # Not 1 and 0, as Platt: rows whose likeliest class is always right have a temperature too.
    targets_NK = (labels_NK * float(rows) + 1) / (rows + classes)

    def nats(log_temperature: float) -> float:
        z_NK = log_p_NK / math.exp(log_temperature)
        return float((np.logaddexp.reduce(z_NK, axis=1) - (z_NK * targets_NK).sum(1)).mean())

    most = math.log(LARGEST_TEMPERATURE)
    best = minimize_scalar(nats, bounds=(-most, most), method="bounded", options={"xatol": 1e-6})
    return Scaling(temperature=round(math.exp(best.x), 4), n=len(labels_NK))


# --- The measure on test rows ---

RAW, CALIBRATED = "raw", "calibrated"


@dataclass(frozen=True)
class Calibration:
    """How the probabilities of some rows fare: `calibrated` as predicted, `raw` before the correction."""

    labels: list[dict[str, float]]
    """Brier score and calibration error of each label; with a correction also before it."""
    groups: dict[str, dict[str, Reliability]]
    """By group and way; only `raw` without a correction."""

    def pooled(self) -> dict[str, Reliability]:
        """Return the reliability over all labels by way."""
        ways = next(iter(self.groups.values()))
        return {way: _sum(tables[way] for tables in self.groups.values()) for way in ways}

    def metrics(self) -> dict[str, float]:
        """Return Brier score and calibration error over all cells; with a correction also before it."""
        return _scores(self.pooled())

    def table(self) -> list[dict[str, str | int | float]]:
        """Return the bins of all labels together (`all`) and, if there are several, of each group."""
        parts = {"all": self.pooled()}
        if len(self.groups) > 1:
            parts |= self.groups
        return [
            {"group": group, "probabilities": way, "bin": number, **rounded(row)}
            for group, tables in parts.items()
            for way, pooled in tables.items()
            for number, row in enumerate(pooled.table(), start=1)
        ]


def calibrate(
    labels_NL: NDArray,
    probabilities_NL: NDArray,
    groups: Sequence[str],
    scaling: Scaling | None = None,
) -> Calibration:
    """Measure probabilities (N, L) and, if they were corrected by `scaling`, what they were before."""
    before = _uncorrected(probabilities_NL, scaling)
    scores, pooled = [], {}
    pairs = columns(labels_NL, probabilities_NL)
    for group, (labels, probabilities) in zip(groups, pairs, strict=True):
        predicted = reliability(labels, probabilities)
        tables = (
            {RAW: reliability(labels, next(before)), CALIBRATED: predicted}
            if scaling
            else {RAW: predicted}
        )
        scores.append(_scores(tables))
        so_far = pooled.get(group, {})
        pooled[group] = {way: _sum([so_far[way], x]) if so_far else x for way, x in tables.items()}
    return Calibration(scores, pooled)


def _uncorrected(probabilities_NL: NDArray, scaling: Scaling | None) -> Iterator[NDArray]:
    """Yield the columns as they were before the correction."""
    if scaling is None:
        return
    inverse = scaling.inverse()
    if scaling.temperature is not None:
        yield from inverse.probabilities(probabilities_NL.astype(np.float64)).T
        return
    for number, (column,) in enumerate(columns(probabilities_NL)):
        yield inverse.of([number]).probabilities(column[:, None].astype(np.float64))[:, 0]


def _scores(tables: dict[str, Reliability]) -> dict[str, float]:
    endings = {"": tables.get(CALIBRATED, tables[RAW])}
    if CALIBRATED in tables:
        endings["_raw"] = tables[RAW]
    return {
        f"{name}{ending}": getattr(table, name)()
        for ending, table in endings.items()
        for name in ("brier", "ece")
    }


def _sum(parts: Iterable[Reliability]) -> Reliability:
    return sum(parts, start=reliability([], []))
