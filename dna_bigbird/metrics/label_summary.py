"""All metrics of a labelled set in one flat dictionary: one label, or many labels in groups.

The keys are defined in docs/metrics.md; each `_low` and `_high` is a 95 % bootstrap interval.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws, percentile_interval
from dna_bigbird.metrics.label_areas import AREAS, LabelAreas, delong_interval

# A areas (AUROC, average precision), R draws, N rows, L labels

AT_THRESHOLD = ("f1", "mcc", "precision", "recall")


def summarise_one(
    areas: LabelAreas, labels: NDArray, scores: NDArray, threshold: float, draws: Draws
) -> dict[str, float | int]:
    """Return the metrics of a set with one label (`auroc`, …).

    Args:
        areas: Of this one label, under the same draws.
        labels, scores: (N,) each.
        threshold: Chosen on validation (`choose_thresholds`).
    """
    metrics: dict[str, float | int] = {}
    for index, name in enumerate(AREAS):
        metrics |= with_interval(name, areas.point[index, 0], areas.drawn[index, 0])
    low, high = delong_interval(areas.point[0, 0], areas.auroc_variance[0])
    metrics |= {"auroc_delong_low": low, "auroc_delong_high": high}
    point, drawn = confusion(labels, scores, threshold), confusion(labels, scores, threshold, draws)
    for name in AT_THRESHOLD:
        metrics |= with_interval(name, getattr(point, name)()[0], getattr(drawn, name)())
    # Published scores mostly take 0.5 for the threshold.
    at_half = confusion(labels, scores, 0.5).f1()[0], confusion(labels, scores, 0.5, draws).f1()
    metrics |= with_interval("f1_at_half", *at_half)
    return metrics | {
        "threshold": threshold,
        "n": areas.n,
        "n_positive": int(areas.positives[0]),
    }


def summarise_many(areas: LabelAreas, groups: Sequence[str]) -> dict[str, float | int]:
    """Return the metrics of a set with many labels (`macro_auroc`, `median_auroc_<group>`, …).

    Args:
        groups: Group of each label.
    """
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
    """Return how much the (macro) AUROC and AUPRC of one source of scores exceed the other's.

    Both must have been scored on the same rows and draws, so the interval is that of the difference.
    """
    gains: dict[str, float] = {}
    for index, name in enumerate(AREAS):
        point_L = areas.point[index] - other.point[index]
        drawn_LR = areas.drawn[index] - other.drawn[index]
        gains |= with_interval(
            f"{name}_gain", _over(np.nanmean, point_L), _over(np.nanmean, drawn_LR)
        )
    return gains


def _averages(key: str, average, areas: LabelAreas, here: NDArray, ending: str) -> dict:
    """Average both areas over some labels, with intervals."""
    metrics: dict[str, float] = {}
    for index, name in enumerate(AREAS):
        point = _over(average, areas.point[index, here])
        drawn_R = _over(average, areas.drawn[index, here])
        metrics |= with_interval(f"{key}_{name}{ending}", point, drawn_R)
    return metrics


def _over(average, values: NDArray) -> NDArray[np.float64]:
    """Average over labels (the first axis), leaving out what is not defined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no label is defined: NaN is the answer
        return average(values, axis=0)


def macro_area(areas: LabelAreas, index: int) -> tuple[float, NDArray[np.float64]]:
    """Return the mean of one area over labels, and the same under every draw, (R,)."""
    return float(_over(np.nanmean, areas.point[index])), _over(np.nanmean, areas.drawn[index])


def with_interval(name: str, point: float, drawn_R: NDArray) -> dict[str, float]:
    """Return a score and the ends of its interval by name; NaN where it is not defined."""
    low, high = percentile_interval(drawn_R) if np.isfinite(point) else (np.nan, np.nan)
    return {name: float(point), f"{name}_low": float(low), f"{name}_high": float(high)}
