"""Areas of every label of a set, of the rows as they are and under every bootstrap draw."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.ranking import RankedLabel

# A areas (AUROC, average precision), R draws, N rows, L labels

AREAS = ("auroc", "auprc")
COLUMNS_AT_ONCE = 16
"""Labels copied out of a table at once: a column alone would touch every line of its memory."""
Progress = Callable[[Iterable[int]], Iterable[int]]


@dataclass(frozen=True)
class LabelAreas:
    """What is known of every label from the order of its scores; NaN where it is not defined."""

    n: int
    """Rows."""
    positives: NDArray[np.int64]
    """(L,)."""
    point: NDArray[np.float64]
    """(A, L)."""
    auroc_variance: NDArray[np.float64]
    """(L,), after DeLong: rows taken as independent."""
    drawn: NDArray[np.float64]
    """(A, L, R)."""

    @property
    def undefined(self) -> NDArray[np.bool_]:
        """(L,), True for labels without positives or without negatives among the rows."""
        return (self.positives == 0) | (self.positives == self.n)


def label_areas(
    labels_NL: NDArray,
    scores_NL: NDArray,
    draws: Draws | None = None,
    progress: Progress = lambda numbers: numbers,
) -> LabelAreas:
    """Compute both areas of every label, the variance of the AUROC, and the areas under each draw.

    Memory in addition to the arguments: a few tens of MB, and 16 bytes per label and draw.

    Args:
        draws: None for no draw (R = 0).
        progress: Wraps the numbers of the labels, as `tqdm` does.

    Raises:
        ValueError: If the shapes differ or a label is wrong, see RankedLabel.
    """
    if labels_NL.shape != scores_NL.shape or labels_NL.ndim != 2:
        raise ValueError(f"labels have shape {labels_NL.shape}, scores {scores_NL.shape}")
    count, width = labels_NL.shape
    positives_L, variance_L = np.empty(width, dtype=np.int64), np.empty(width)
    point_AL = np.empty((2, width))
    drawn_ALR = np.empty((2, width, len(draws) if draws else 0))
    pairs = columns(labels_NL, scores_NL)
    for label, (labels, scores) in zip(progress(range(width)), pairs, strict=True):
        ranked = RankedLabel(labels, scores)
        positives_L[label] = ranked.n_positive
        variance_L[label] = ranked.delong_variance()
        point_AL[:, label] = np.concatenate(ranked.areas())
        if draws:
            drawn_ALR[:, label] = ranked.areas(draws)
    return LabelAreas(count, positives_L, point_AL, variance_L, drawn_ALR)


def columns(*tables_NL: NDArray) -> Iterator[tuple[NDArray, ...]]:
    """Yield the columns of tables of equal width side by side, each in one piece of memory."""
    for first in range(0, tables_NL[0].shape[1], COLUMNS_AT_ONCE):
        parts = [np.asarray(t[:, first : first + COLUMNS_AT_ONCE]).T.copy() for t in tables_NL]
        yield from zip(*parts, strict=True)


def choose_thresholds(labels_NL: NDArray, scores_NL: NDArray) -> NDArray[np.float64]:
    """Return for every label the threshold with the highest F1; give it validation rows."""
    pairs = columns(labels_NL, scores_NL)
    return np.array([RankedLabel(*column).best_f1_threshold() for column in pairs])


def delong_interval(area: float, variance: float) -> tuple[float, float]:
    """Return the 95 % interval of an AUROC, symmetric on the logit scale so that it stays in 0 to 1.

    NaN if the area is 0 or 1, where the estimated variance is 0 and says nothing.

    Example:
        >>> [round(end, 4) for end in delong_interval(0.9, 0.02**2)]
        [0.8534, 0.9329]
    """
    if not 0 < area < 1 or not variance > 0:
        return math.nan, math.nan
    middle = math.log(area / (1 - area))
    reach = 1.959964 * math.sqrt(variance) / (area * (1 - area))
    low, high = (1 / (1 + math.exp(-x)) for x in (middle - reach, middle + reach))
    return low, high
