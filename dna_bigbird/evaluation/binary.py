"""Scores of binary labels: AUROC, AUPRC, and what follows from a threshold. See docs/metrics.md.

Labels are 0 and 1, a higher score means more likely positive, and a score counts as positive if it
is at or above the threshold. What is not defined is NaN, never 0.5 or 0.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# R bootstrap draws, N rows, G groups of equal scores, L labels


def auroc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the chance that a positive scores above a negative, ties counting half.

    NaN if there is no positive or no negative.

    Example:
        >>> auroc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
        0.875
    """
    return float(RankedLabel(labels, scores).auroc()[0])


def auprc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the average precision: the step-wise area under the precision-recall curve.

    NaN if there is no positive or no negative.

    Example:
        >>> round(auprc([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8]), 4)
        0.8333
    """
    return float(RankedLabel(labels, scores).auprc()[0])


class RankedLabel:
    """One label's rows sorted by score once, for any number of weightings of the rows.

    Raises:
        ValueError: If shapes differ, a label is neither 0 nor 1, or a score is not finite.
    """

    def __init__(self, labels: ArrayLike, scores: ArrayLike) -> None:
        labels, scores = np.asarray(labels), np.asarray(scores, dtype=np.float64)
        if labels.ndim != 1 or labels.shape != scores.shape:
            raise ValueError(f"labels have shape {labels.shape}, scores {scores.shape}")
        if not np.isin(labels, (0, 1)).all():
            raise ValueError("labels must be 0 or 1")
        if not np.isfinite(scores).all():
            raise ValueError(f"{int((~np.isfinite(scores)).sum())} scores are not finite numbers")
        self._order = np.argsort(-scores, kind="stable")
        self._is_positive = labels[self._order].astype(np.float64)
        falls = np.diff(scores[self._order]) != 0
        self._group_ends = np.flatnonzero(np.append(falls, True)) if len(scores) else _NO_ROWS

    def _counts(self, weights_RN: NDArray | None) -> tuple[NDArray, NDArray]:
        """Return the weight of positives and of negatives at or above each distinct score, (R, G)."""
        if weights_RN is None:
            weights_RN = np.ones((1, len(self._order)))
        sorted_RN = np.asarray(weights_RN, dtype=np.float64)[:, self._order]
        true_RN = np.cumsum(sorted_RN * self._is_positive, axis=1)
        all_RN = np.cumsum(sorted_RN, axis=1)
        if len(self._group_ends) < len(self._order):
            true_RN, all_RN = true_RN[:, self._group_ends], all_RN[:, self._group_ends]
        return true_RN, all_RN - true_RN

    def auroc(self, weights_RN: NDArray | None = None) -> NDArray[np.float64]:
        """Return the AUROC under each weighting of the rows, (R,); one of all ones by default."""
        return self.areas(weights_RN)[0]

    def auprc(self, weights_RN: NDArray | None = None) -> NDArray[np.float64]:
        """Return the average precision under each weighting of the rows, (R,)."""
        return self.areas(weights_RN)[1]

    def areas(
        self, weights_RN: NDArray | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return AUROC and average precision under each weighting of the rows, (R,) each."""
        true_RG, false_RG = self._counts(weights_RN)
        positives, negatives = _last(true_RG), _last(false_RG)
        gained_RG = np.diff(true_RG, axis=1, prepend=0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # A positive beats the negatives below its score, and half of those beside it.
            beside_RG = np.diff(false_RG, axis=1, prepend=0.0)
            beaten_RG = negatives[:, None] - false_RG + beside_RG / 2
            roc = np.einsum("rg,rg->r", gained_RG, beaten_RG) / (positives * negatives)
            precision_RG = np.where(true_RG > 0, true_RG / (true_RG + false_RG), 0.0)
            pr = np.einsum("rg,rg->r", gained_RG, precision_RG) / positives
        return roc, np.where((positives > 0) & (negatives > 0), pr, np.nan)


_NO_ROWS = np.empty(0, dtype=np.int64)


def _last(counts_RG: NDArray) -> NDArray:
    return counts_RG[:, -1] if counts_RG.shape[1] else np.zeros(len(counts_RG))


def best_f1_threshold(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the threshold with the highest F1, to be chosen on validation rows only.

    It lies half-way between the lowest score taken as positive and the next one below. Of equal
    F1 the highest threshold is taken; without a positive or a negative it is 0.5.

    Example:
        >>> best_f1_threshold([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9])
        0.4
    """
    ranked = RankedLabel(labels, scores)
    true_RG, false_RG = ranked._counts(None)
    positives, negatives = float(_last(true_RG)[0]), float(_last(false_RG)[0])
    if not positives or not negatives:
        return 0.5
    f1 = 2 * true_RG[0] / (true_RG[0] + false_RG[0] + positives)
    best = int(np.argmax(f1))
    distinct = np.unique(np.asarray(scores, dtype=np.float64))[::-1]
    below = distinct[best + 1] if best + 1 < len(distinct) else distinct[best]
    return float((distinct[best] + below) / 2)


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
    labels: ArrayLike, scores: ArrayLike, threshold: float, weights_RN: NDArray | None = None
) -> Confusion:
    """Count the four outcomes at a threshold under each weighting of the rows."""
    is_positive = np.asarray(labels).astype(bool)
    called = np.asarray(scores, dtype=np.float64) >= threshold
    if weights_RN is None:
        weights_RN = np.ones((1, len(is_positive)))
    cells = np.stack(
        [is_positive & called, ~is_positive & called, is_positive & ~called, ~is_positive & ~called]
    )
    return Confusion(*(np.asarray(weights_RN, dtype=np.float64) @ cells.T.astype(np.float64)).T)


def rounded(metrics: dict) -> dict:
    """Return metrics as they are written: six digits behind the point, NaN as None.

    Example:
        >>> rounded({"auroc": 0.12345678, "auprc": float("nan"), "n": 3, "split": "test"})
        {'auroc': 0.123457, 'auprc': None, 'n': 3, 'split': 'test'}
    """

    def value(x):
        if isinstance(x, dict):
            return rounded(x)
        if isinstance(x, float | np.floating):
            return round(float(x), 6) if math.isfinite(x) else None
        return int(x) if isinstance(x, np.integer) else x

    return {key: value(x) for key, x in metrics.items()}
