"""Scores of binary labels: AUROC, AUPRC, and what follows from a threshold. See docs/reference/metrics.md.

Labels are 0 and 1, or NaN where a label was not measured: such a row is left out. A higher score
means more likely positive, and a score counts as positive if it is at or above the threshold. What
is not defined is NaN, never 0.5 or 0.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from dna_bigbird.metrics.bootstrap import Draws

# Areas change only at a positive. So the sorted rows are cut at the distinct scores that a
# positive has, and all sums are over these G groups and the stretches of negatives between them:
# after the sort, a draw costs one addition per row and a few operations per group.

# R draws, N rows, U units, G distinct scores of positives from the highest, S = 2 G + 1 stretches


class RankedLabel:
    """Labels of 0, 1 or NaN with scores; a higher score means more likely positive."""

    def __init__(self, labels: ArrayLike, scores: ArrayLike) -> None:
        labels, scores = np.asarray(labels), np.asarray(scores)
        if scores.dtype != np.float32:  # float32 is sorted twice as fast and is exact as it is
            scores = scores.astype(np.float64)
        if labels.ndim != 1 or labels.shape != scores.shape:
            raise ValueError(f"labels have shape {labels.shape}, scores {scores.shape}")
        measured = np.flatnonzero(~np.isnan(labels))
        if not np.isin(labels[measured], (0, 1)).all():
            raise ValueError("labels must be 0 or 1, or NaN where there is none")
        if not np.isfinite(scores).all():
            raise ValueError(f"{int((~np.isfinite(scores)).sum())} scores are not finite numbers")
        # The order of equal scores is part of no result.
        self._order = measured[np.argsort(-scores[measured])]
        self._scores = scores[self._order]
        self._positives = np.flatnonzero(labels[self._order])
        self._cut()

    def _cut(self) -> None:
        """Find the first and last row of each group, and the positives in it."""
        positive_scores = self._scores[self._positives]
        new = np.append(True, positive_scores[1:] != positive_scores[:-1])[: len(positive_scores)]
        self._first_positive = np.append(np.flatnonzero(new), len(positive_scores))
        distinct = -positive_scores[new]
        starts = np.searchsorted(-self._scores, distinct, side="left")
        self._ends = np.searchsorted(-self._scores, distinct, side="right")
        inner = np.stack([starts, self._ends], axis=1).reshape(-1)
        self._bounds = np.concatenate([[0], inner, [len(self._scores)]])

    @property
    def n_positive(self) -> int:
        """Number of positives."""
        return len(self._positives)

    @property
    def n_negative(self) -> int:
        """Number of negatives."""
        return len(self._scores) - len(self._positives)

    def areas(self, draws: Draws | None = None) -> tuple[NDArray, NDArray]:
        """Return AUROC and average precision under each draw, (R,); NaN without both classes."""
        if draws is None:
            stretches_S1 = np.diff(self._bounds).astype(np.float64)[:, None]
            return _areas(stretches_S1, np.diff(self._first_positive).astype(np.float64)[:, None])
        units = draws.units[self._order]
        stretches = _sums(units, self._bounds, len(draws.times))
        positives = _sums(units[self._positives], self._first_positive, len(draws.times))
        parts = [
            _areas(stretches @ times_UR, positives @ times_UR)
            for times_UR in draws.parts(len(self._bounds))
        ]
        return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))

    def delong_variance(self) -> float:
        """Return DeLong's variance of the AUROC (1988); NaN with fewer than two of a class."""
        positives, negatives = self.n_positive, self.n_negative
        if min(positives, negatives) < 2:
            return math.nan
        # In O(N log N): Sun & Xu (2014) use mid-ranks, here it is the counts of the area.
        stretches = np.diff(self._bounds)
        gained = np.diff(self._first_positive)
        beside = stretches[1:-1:2] - gained
        above = np.cumsum(stretches[:-1:2] + beside) - beside  # negatives scoring higher
        beaten_G = (negatives - above - beside / 2) / negatives
        lost_G = np.cumsum(gained) - gained  # positives scoring higher
        beaten_by = np.concatenate([lost_G, lost_G + gained / 2, [positives]]) / positives
        times = np.concatenate([stretches[:-1:2], beside, stretches[-1:]])
        return _variance(beaten_G, gained) / positives + _variance(beaten_by, times) / negatives

    def best_f1_threshold(self) -> float:
        """Return the threshold with the highest F1; see `binary.best_f1_threshold`."""
        if not self.n_positive or not self.n_negative:
            return 0.5
        true_G = self._first_positive[1:]
        best = int(np.argmax(2 * true_G / (self._ends + self.n_positive)))
        last = self._ends[best] - 1
        below = min(last + 1, len(self._scores) - 1)
        return (float(self._scores[last]) + float(self._scores[below])) / 2


def _sums(units: NDArray, bounds: NDArray, num_units: int) -> csr_array:
    """Return the matrix that sums what units weigh over each stretch of rows, (stretches, U)."""
    values = np.ones(len(units))
    return csr_array((values, units, bounds), shape=(len(bounds) - 1, num_units))


def _areas(stretches_SR: NDArray, gained_GR: NDArray) -> tuple[NDArray, NDArray]:
    """Return both areas from the weight of each stretch and of the positives of each group."""
    group_GR = stretches_SR[1:-1:2]
    called_GR = np.cumsum(stretches_SR[:-1:2] + group_GR, axis=0)
    true_GR = np.cumsum(gained_GR, axis=0)
    positives = gained_GR.sum(axis=0)
    negatives = stretches_SR.sum(axis=0) - positives
    with np.errstate(invalid="ignore", divide="ignore"):
        # A positive beats the negatives below its score, and half of those with the same score.
        beaten_GR = negatives - (called_GR - true_GR) + (group_GR - gained_GR) / 2
        roc = np.einsum("gr,gr->r", gained_GR, beaten_GR) / (positives * negatives)
        precision_GR = np.where(called_GR > 0, true_GR / called_GR, 0.0)
        pr = np.einsum("gr,gr->r", gained_GR, precision_GR) / positives
    defined = (positives > 0) & (negatives > 0)
    return np.where(defined, roc, np.nan), np.where(defined, pr, np.nan)


def _variance(values: NDArray, times: NDArray) -> float:
    """Variance of values that occur so many times, with n - 1 below."""
    total = times.sum()
    mean = (values * times).sum() / total
    return float(((values - mean) ** 2 * times).sum() / (total - 1))


def auroc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the chance that a positive scores above a negative, ties counting half.

    Example:
        >>> auroc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
        0.875
    """
    return float(RankedLabel(labels, scores).areas()[0][0])


def auprc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the average precision: the step-wise area under the precision-recall curve.

    Example:
        >>> round(auprc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8]), 4)
        0.8333
    """
    return float(RankedLabel(labels, scores).areas()[1][0])


def best_f1_threshold(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the threshold with the highest F1; for validation rows only (docs/reference/metrics.md).

    Example:
        >>> best_f1_threshold([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9])
        0.4
    """
    return RankedLabel(labels, scores).best_f1_threshold()


@dataclass(frozen=True)
class Confusion:
    """Weights of the four outcomes at a threshold, each (R,)."""

    true_positive: NDArray[np.float64]
    false_positive: NDArray[np.float64]
    false_negative: NDArray[np.float64]
    true_negative: NDArray[np.float64]

    def precision(self) -> NDArray[np.float64]:
        """Share of positives among the rows called positive; NaN if none is."""
        return _ratio(self.true_positive, self.true_positive + self.false_positive)

    def recall(self) -> NDArray[np.float64]:
        """Share of the positives that is called positive; NaN without a positive."""
        return _ratio(self.true_positive, self.true_positive + self.false_negative)

    def f1(self) -> NDArray[np.float64]:
        """Harmonic mean of precision and recall; NaN without a positive, 0 if none is found."""
        positives = self.true_positive + self.false_negative
        called = self.true_positive + self.false_positive
        return np.where(positives > 0, _ratio(2 * self.true_positive, positives + called), np.nan)

    def mcc(self) -> NDArray[np.float64]:
        """Matthews correlation; NaN unless both classes occur, 0 if all rows are called the same."""
        tp, fp, fn, tn = vars(self).values()
        scale = np.sqrt((tp + fp) * (tn + fn))
        classes = np.sqrt((tp + fn) * (tn + fp))
        value = np.where(scale > 0, _ratio(tp * tn - fp * fn, scale * classes), 0.0)
        return np.where(classes > 0, value, np.nan)


def _ratio(above: NDArray, below: NDArray) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def confusion(
    labels: ArrayLike, scores: ArrayLike, threshold: float, draws: Draws | None = None
) -> Confusion:
    """Count the four outcomes at a threshold under each draw of the rows, (R,) each."""
    is_positive, is_negative = (np.asarray(labels) == value for value in (1, 0))
    called = np.asarray(scores, dtype=np.float64) >= threshold
    cells_4N = np.stack(
        [is_positive & called, is_negative & called, is_positive & ~called, is_negative & ~called]
    )
    if draws is None:
        return Confusion(*cells_4N.sum(axis=1, dtype=np.float64)[:, None])
    units = len(draws.times)
    cells_4U = np.stack([np.bincount(draws.units[cell], minlength=units) for cell in cells_4N])
    return Confusion(*np.concatenate([cells_4U @ part for part in draws.parts(units)], axis=1))
