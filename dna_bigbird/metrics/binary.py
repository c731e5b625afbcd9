"""Scores of binary labels: AUROC, AUPRC, and what follows from a threshold. See docs/metrics.md.

Labels are 0 and 1, a higher score means more likely positive, and a score counts as positive if it
is at or above the threshold. What is not defined is NaN, never 0.5 or 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.ranking import RankedLabel

# R bootstrap draws, N rows, U units


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
    """Return the threshold with the highest F1; for validation rows only (docs/metrics.md).

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
        tp, fp, fn, tn = (
            self.true_positive,
            self.false_positive,
            self.false_negative,
            self.true_negative,
        )
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
    is_positive = np.asarray(labels).astype(bool)
    called = np.asarray(scores, dtype=np.float64) >= threshold
    cells_4N = np.stack(
        [is_positive & called, ~is_positive & called, is_positive & ~called, ~is_positive & ~called]
    )
    if draws is None:
        return Confusion(*cells_4N.sum(axis=1, dtype=np.float64)[:, None])
    units = len(draws.times)
    cells_4U = np.stack([np.bincount(draws.units[cell], minlength=units) for cell in cells_4N])
    return Confusion(*np.concatenate([cells_4U @ part for part in draws.parts(units)], axis=1))
