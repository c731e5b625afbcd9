"""Everything that is reported of one source of scores: a model, or a baseline on the same rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws, bootstrap_intervals
from dna_bigbird.metrics.calibration import Calibration
from dna_bigbird.metrics.label_areas import (
    AREAS,
    AT_THRESHOLD,
    LabelAreas,
    Progress,
    choose_thresholds,
    columns,
    compare,
    delong_interval,
    label_areas,
    macro_area,
    summarise_many,
    summarise_one,
    with_interval,
)
from dna_bigbird.metrics.multi_class import SCORES as CLASS_SCORES
from dna_bigbird.metrics.multi_class import confusion_tables, table_scores
from dna_bigbird.metrics.regression import SCORES as TARGET_SCORES
from dna_bigbird.metrics.regression import regression_scores, track_scores

# N rows, K classes, L labels or targets, P bins of a row, R bootstrap draws

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
    draws: Draws | None = None
    """Those of `estimates` and `targets`."""

    def gains_over(self, other: "Source") -> dict[str, float]:
        """Return by how much the scores exceed another source's on the same rows and draws."""
        if not self.estimates:
            return compare(self.areas, other.areas)
        gains: dict[str, float] = {}
        for name, (point, drawn_R) in self.estimates.items():
            other_point, other_R = other.estimates[name]
            gains |= with_interval(
                f"{name}_gain", point - other_point, drawn_R - other_R, self.draws
            )
        return gains


def score_source(
    validation: tuple[NDArray, NDArray],
    test: tuple[NDArray, NDArray],
    groups: Sequence[str],
    draws: Draws,
    progress: Progress = lambda numbers: numbers,
) -> Source:
    """Choose thresholds on validation rows, and score the test rows: labels and scores, (N, L)."""
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
    """Return the rows of per_label.tsv: areas of model and baselines, then more of the model."""
    rows, intervals = [], _intervals(model.areas)
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        scores: dict[str, float] = {}
        for prefix, source in {"": model, **{f"{x}_": y for x, y in baselines.items()}}.items():
            for index, key in enumerate(AREAS):
                scores[prefix + key] = float(source.areas.point[index, i])
        scores |= {key: float(ends_L[i]) for key, ends_L in intervals.items()}
        scores |= {**model.at_threshold[i], "threshold": float(model.thresholds[i])}
        scores |= calibration.labels[i] if calibration else {}
        rows.append(
            {
                "label": name,
                "group": group,
                "n": int(model.areas.measured[i]),
                "n_positive": int(model.areas.positives[i]),
                **{key: round(value, 6) for key, value in scores.items()},
            }
        )
    return rows


def _intervals(areas: LabelAreas) -> dict[str, NDArray[np.float64]]:
    """Return the ends of DeLong's interval of every AUROC and of the bootstrap's of both areas, (L,)."""
    pairs = zip(areas.point[0], areas.auroc_variance, strict=True)
    ends = {"auroc_delong": np.array([delong_interval(*pair) for pair in pairs])}
    for index, key in enumerate(AREAS):
        ends[key] = bootstrap_intervals(areas.point[index], areas.drawn[index], areas.draws)
    return {
        f"{key}_{end}": ends_L2[:, i]
        for key, ends_L2 in ends.items()
        for i, end in enumerate(("low", "high"))
    }


def score_classes(
    labels_NK: NDArray, scores_NK: NDArray, draws: Draws, progress: Progress = iter
) -> Source:
    """Score the probabilities of classes; the predicted class is the likeliest."""
    points = table_scores(confusion_tables(labels_NK, scores_NK))
    drawn = table_scores(confusion_tables(labels_NK, scores_NK, draws))
    estimates = {name: (float(points[name][0]), drawn[name]) for name in CLASS_SCORES}
    areas = label_areas(labels_NK, scores_NK, draws, progress)
    estimates |= {f"macro_{name}": macro_area(areas, index) for index, name in enumerate(AREAS)}
    is_called_NK = scores_NK.argmax(axis=1)[:, None] == np.arange(labels_NK.shape[1])
    at_threshold = []
    for labels, called in zip(labels_NK.T, is_called_NK.T, strict=True):
        at = confusion(labels, called, 0.5)
        at_threshold.append({name: float(getattr(at, name)()[0]) for name in AT_THRESHOLD})
    metrics = metrics_of(estimates, draws) | {
        "n": len(labels_NK),
        "n_classes": labels_NK.shape[1],
        "n_classes_undefined": int(areas.undefined.sum()),
    }
    nothing = np.full(labels_NK.shape[1], np.nan)
    return Source(metrics, areas, nothing, at_threshold, estimates, draws=draws)


def score_targets(truth_NL: NDArray, predicted_NL: NDArray, draws: Draws) -> Source:
    """Score predicted numbers; of several targets every score is the mean."""
    targets: list[Estimates] = []
    for truth, predicted in zip(truth_NL.T, predicted_NL.T, strict=True):
        points, drawn = (regression_scores(truth, predicted, d) for d in (None, draws))
        targets.append({name: (float(points[name][0]), drawn[name]) for name in TARGET_SCORES})
    return _mean_of_targets(targets, draws, {"n": len(truth_NL)})


def score_tracks(truth_NPL: NDArray, predicted_NPL: NDArray, draws: Draws) -> Source:
    """Score the values of bins; of several tracks every score is the mean. `n_bins`: measured in a track."""
    columns = zip(np.moveaxis(truth_NPL, -1, 0), np.moveaxis(predicted_NPL, -1, 0), strict=True)
    tracks = [track_scores(truth, predicted, draws) for truth, predicted in columns]
    is_known_NP = ~np.isnan(truth_NPL).all(axis=-1)
    return _mean_of_targets(tracks, draws, {"n": len(truth_NPL), "n_bins": int(is_known_NP.sum())})


def _mean_of_targets(targets: list[Estimates], draws: Draws, counts: dict[str, int]) -> Source:
    estimates = {
        name: (
            float(np.mean([each[name][0] for each in targets])),
            np.mean([each[name][1] for each in targets], axis=0),
        )
        for name in targets[0]
    }
    counts |= {"n_targets": len(targets)} if len(targets) > 1 else {}
    metrics = metrics_of(estimates, draws) | counts
    return Source(metrics, None, np.empty(0), [], estimates, targets, draws)


def metrics_of(estimates: Estimates, draws: Draws) -> dict[str, float | int]:
    """Return scores with the ends of their intervals, by name."""
    metrics: dict[str, float | int] = {}
    for name, (point, drawn_R) in estimates.items():
        metrics |= with_interval(name, point, drawn_R, draws)
    return metrics


def per_target(
    names: Sequence[str], n: int, model: Source, baselines: Mapping[str, Source]
) -> list[dict[str, str | int | float]]:
    """Return per target: label, n, the scores with intervals, then those of each baseline.

    Of tracks also `pearson_gain_over_BASELINE`, with its interval.
    """
    rows = []
    for number, name in enumerate(names):
        row: dict[str, str | int | float] = {"label": name, "n": n}
        scores = dict(metrics_of(model.targets[number], model.draws))
        for baseline, source in baselines.items():
            for key, (point, _) in source.targets[number].items():
                scores[f"{baseline}_{key}"] = point
            if "profile_pearson" in model.targets[number]:
                pairs = zip(*(x.targets[number]["pearson"] for x in (model, source)), strict=True)
                gain, drawn_R = (mine - theirs for mine, theirs in pairs)
                name_of_gain = f"pearson_gain_over_{baseline}"
                scores |= with_interval(name_of_gain, gain, drawn_R, model.draws)
        rows.append(row | {key: round(value, 6) for key, value in scores.items()})
    return rows


def trivial_scores(train_labels: NDArray, rows: int) -> NDArray[np.float32]:
    """Return the means of the training labels for every row: shares of classes, or mean targets."""
    return repeated(train_labels.mean(axis=0, dtype=np.float64), rows)


def repeated(means: NDArray, rows: int) -> NDArray[np.float32]:
    """Return the same values, (L,) or (P, L), for every row."""
    return np.broadcast_to(means.astype(np.float32), (rows, *means.shape))
