"""Areas of every label of a set, of the rows as they are and under every bootstrap draw."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.binary import RankedLabel, confusion
from dna_bigbird.metrics.bootstrap import Draws, bootstrap_intervals

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
    measured: NDArray[np.int64]
    """(L,), rows in which the label was measured."""
    positives: NDArray[np.int64]
    """(L,)."""
    point: NDArray[np.float64]
    """(A, L)."""
    auroc_variance: NDArray[np.float64]
    """(L,), after DeLong: rows taken as independent."""
    drawn: NDArray[np.float64]
    """(A, L, R)."""
    draws: Draws | None = None
    """Those of `drawn`."""

    @property
    def undefined(self) -> NDArray[np.bool_]:
        """(L,), True for labels without positives or without negatives among the rows."""
        return (self.positives == 0) | (self.positives == self.measured)


def label_areas(
    labels_NL: NDArray,
    scores_NL: NDArray,
    draws: Draws | None = None,
    progress: Progress = lambda numbers: numbers,
) -> LabelAreas:
    """Compute the areas of every label, also under each draw: 16 bytes per label and draw."""
    if labels_NL.shape != scores_NL.shape or labels_NL.ndim != 2:
        raise ValueError(f"labels have shape {labels_NL.shape}, scores {scores_NL.shape}")
    count, width = labels_NL.shape
    measured_L, positives_L = np.empty((2, width), dtype=np.int64)
    variance_L = np.empty(width)
    point_AL = np.empty((2, width))
    drawn_ALR = np.empty((2, width, len(draws) if draws else 0))
    pairs = columns(labels_NL, scores_NL)
    for label, (labels, scores) in zip(progress(range(width)), pairs, strict=True):
        ranked = RankedLabel(labels, scores)
        positives_L[label] = ranked.n_positive
        measured_L[label] = ranked.n_positive + ranked.n_negative
        variance_L[label] = ranked.delong_variance()
        point_AL[:, label] = np.concatenate(ranked.areas())
        if draws:
            drawn_ALR[:, label] = ranked.areas(draws)
    return LabelAreas(count, measured_L, positives_L, point_AL, variance_L, drawn_ALR, draws)


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
    """Return the 95 % interval of an AUROC, symmetric on the logit scale; NaN for 0 or 1.

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


# Metrics of a labelled set (docs/reference/metrics.md): one label, or many labels in groups.

AT_THRESHOLD = ("f1", "mcc", "precision", "recall")


def summarise_one(
    areas: LabelAreas, labels: NDArray, scores: NDArray, threshold: float, draws: Draws
) -> dict[str, float | int]:
    """Return the metrics of a set with one label (`auroc`, …), (N,) labels and scores."""
    metrics: dict[str, float | int] = {}
    for index, name in enumerate(AREAS):
        metrics |= with_interval(name, areas.point[index, 0], areas.drawn[index, 0], draws)
    low, high = delong_interval(areas.point[0, 0], areas.auroc_variance[0])
    metrics |= {"auroc_delong_low": low, "auroc_delong_high": high}
    point, drawn = confusion(labels, scores, threshold), confusion(labels, scores, threshold, draws)
    for name in AT_THRESHOLD:
        metrics |= with_interval(name, getattr(point, name)()[0], getattr(drawn, name)(), draws)
    # Published scores mostly take 0.5 for the threshold.
    at_half = confusion(labels, scores, 0.5).f1()[0], confusion(labels, scores, 0.5, draws).f1()
    metrics |= with_interval("f1_at_half", *at_half, draws)
    n, n_positive = (int(counts[0]) for counts in (areas.measured, areas.positives))
    return metrics | {"threshold": threshold, "n": n, "n_positive": n_positive}


def summarise_many(areas: LabelAreas, groups: Sequence[str]) -> dict[str, float | int]:
    """Return the metrics of a set with many labels (`macro_auroc`, `median_auroc_<group>`, …)."""
    everywhere = np.arange(len(groups))
    metrics = _averages("macro", np.nanmean, areas, everywhere, "")
    members = {name: np.flatnonzero([x == name for x in groups]) for name in dict.fromkeys(groups)}
    for group, here in members.items():
        for key, average in (("median", np.nanmedian), ("mean", np.nanmean)):
            metrics |= _averages(key, average, areas, here, f"_{group}")
    metrics |= {
        "n": areas.n,
        "n_positive": int(areas.positives.sum()),
        "n_labels": len(groups),
        "n_labels_undefined": int(areas.undefined.sum()),
    }
    for group, here in members.items():
        metrics[f"n_labels_{group}"] = len(here)
        metrics[f"n_labels_undefined_{group}"] = int(areas.undefined[here].sum())
    return metrics


def compare(areas: LabelAreas, other: LabelAreas) -> dict[str, float]:
    """Return by how much the (macro) areas exceed another source's on the same draws."""
    gains: dict[str, float] = {}
    for index, name in enumerate(AREAS):
        point_L = areas.point[index] - other.point[index]
        drawn_LR = areas.drawn[index] - other.drawn[index]
        drawn_R = _over(np.nanmean, drawn_LR)
        gains |= with_interval(f"{name}_gain", _over(np.nanmean, point_L), drawn_R, areas.draws)
    return gains


def _averages(key: str, average, areas: LabelAreas, here: NDArray, ending: str) -> dict:
    """Average both areas over some labels, with intervals."""
    metrics: dict[str, float] = {}
    for index, name in enumerate(AREAS):
        point = _over(average, areas.point[index, here])
        drawn_R = _over(average, areas.drawn[index, here])
        metrics |= with_interval(f"{key}_{name}{ending}", point, drawn_R, areas.draws)
    return metrics


def _over(average, values: NDArray) -> NDArray[np.float64]:
    """Average over labels (the first axis), leaving out what is not defined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no label is defined: NaN is the answer
        return average(values, axis=0)


def macro_area(areas: LabelAreas, index: int) -> tuple[float, NDArray[np.float64]]:
    """Return the mean of one area over labels, and the same under every draw, (R,)."""
    return float(_over(np.nanmean, areas.point[index])), _over(np.nanmean, areas.drawn[index])


def with_interval(name: str, point: float, drawn_R: NDArray, draws: Draws) -> dict[str, float]:
    """Return a score and the ends of its interval by name; NaN where it is not defined."""
    low, high = bootstrap_intervals(point, drawn_R, draws)[0]
    return {name: float(point), f"{name}_low": float(low), f"{name}_high": float(high)}
