"""Everything that is reported of one source of scores: a model, or a baseline on the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws, percentile_interval
from dna_bigbird.metrics.calibration import Calibration
from dna_bigbird.metrics.label_areas import (
    AREAS,
    LabelAreas,
    Progress,
    choose_thresholds,
    columns,
    delong_interval,
    label_areas,
)
from dna_bigbird.metrics.label_summary import (
    AT_THRESHOLD,
    compare,
    summarise_many,
    summarise_one,
    with_interval,
)

# N rows, L labels

Estimates = dict[str, tuple[float, NDArray[np.float64]]]
"""Name of a score to its value and its values under the draws, (R,)."""


@dataclass(frozen=True)
class Source:
    """Results of one source of scores on the test rows; small for any number of rows."""

    metrics: dict[str, float | int]
    areas: LabelAreas | None
    """Of every label or class; None for targets."""
    thresholds: NDArray[np.float64]
    """(L,), chosen on validation; NaN for classes, none for targets."""
    at_threshold: list[dict[str, float]]
    """f1, mcc, precision and recall of each label; of each class, against all others."""
    estimates: Estimates = field(default_factory=dict)
    """Scores of classes and targets, whose differences between sources are reported."""
    targets: list[Estimates] = field(default_factory=list)
    """Scores of each target."""

    def gains_over(self, other: "Source") -> dict[str, float]:
        """Return how much the scores exceed those of another source, with intervals.

        Both must have been scored on the same rows and draws, so the interval is that of the difference.
        """
        if not self.estimates:
            return compare(self.areas, other.areas)
        gains: dict[str, float] = {}
        for name, (point, drawn_R) in self.estimates.items():
            other_point, other_R = other.estimates[name]
            gains |= with_interval(f"{name}_gain", point - other_point, drawn_R - other_R)
        return gains


def score_source(
    validation: tuple[NDArray, NDArray],
    test: tuple[NDArray, NDArray],
    groups: Sequence[str],
    draws: Draws,
    progress: Progress = lambda numbers: numbers,
) -> Source:
    """Choose thresholds on validation rows, and score the test rows.

    Args:
        validation, test: Labels and scores, (N, L) each.
        groups: Group of each label.
        draws: Of the test rows.
        progress: Wraps the numbers of the labels, as `tqdm` does.
    """
    thresholds_L = choose_thresholds(*validation)
    areas = label_areas(*test, draws, progress)
    if len(groups) == 1:
        labels, scores = (table[:, 0] for table in test)
        metrics = summarise_one(areas, labels, scores, float(thresholds_L[0]), draws)
    else:
        metrics = summarise_many(areas, groups)
    at_thresholds = []
    for threshold, (labels, scores) in zip(thresholds_L, columns(*test), strict=True):
        at = confusion(labels, scores, float(threshold))
        at_thresholds.append({name: float(getattr(at, name)()[0]) for name in AT_THRESHOLD})
    return Source(metrics, areas, thresholds_L, at_thresholds)


def per_label(
    names: Sequence[str],
    groups: Sequence[str],
    model: Source,
    baselines: Mapping[str, Source],
    calibration: Calibration | None = None,
) -> list[dict[str, str | int | float]]:
    """Return per label: label, group, n, n_positive, auroc, auprc, then the same of each baseline.

    Then of the model the DeLong and the bootstrap intervals, what follows from its threshold, and
    calibration. Scores are rounded to six digits; what is not defined is NaN.
    """
    rows = []
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        scores: dict[str, float] = {}
        for prefix, source in {"": model, **{f"{x}_": y for x, y in baselines.items()}}.items():
            for index, key in enumerate(AREAS):
                scores[prefix + key] = float(source.areas.point[index, i])
        scores |= _intervals(model.areas, i)
        scores |= {**model.at_threshold[i], "threshold": float(model.thresholds[i])}
        scores |= calibration.labels[i] if calibration else {}
        rows.append(
            {
                "label": name,
                "group": group,
                "n": model.areas.n,
                "n_positive": int(model.areas.positives[i]),
                **{key: round(value, 6) for key, value in scores.items()},
            }
        )
    return rows


def _intervals(areas: LabelAreas, label: int) -> dict[str, float]:
    """Return DeLong's interval of the AUROC, and the bootstrap's of both areas."""
    point, variance = areas.point[0, label], areas.auroc_variance[label]
    ends = {"auroc_delong": delong_interval(point, variance)}
    for index, key in enumerate(AREAS):
        ends[key] = percentile_interval(areas.drawn[index, label])
    return {
        f"{key}_{end}": value
        for key, interval in ends.items()
        for end, value in zip(("low", "high"), interval, strict=True)
    }
