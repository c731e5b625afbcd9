"""One source of scores on the test rows, for classes and for targets; labels: `sources.score_source`."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.label_areas import AREAS, Progress, label_areas
from dna_bigbird.metrics.label_summary import AT_THRESHOLD, macro_area, with_interval
from dna_bigbird.metrics.multi_class import SCORES as CLASS_SCORES
from dna_bigbird.metrics.multi_class import confusion_tables, table_scores
from dna_bigbird.metrics.regression import SCORES as TARGET_SCORES
from dna_bigbird.metrics.regression import regression_scores
from dna_bigbird.metrics.sources import Estimates, Source

# N rows, K classes, L targets, R bootstrap draws


def score_classes(
    labels_NK: NDArray, scores_NK: NDArray, draws: Draws, progress: Progress = iter
) -> Source:
    """Score the probabilities of classes; the predicted class is the likeliest.

    Args:
        labels_NK: 0 and 1, one 1 per row.
        progress: Wraps the numbers of the classes, as `tqdm` does.
    """
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
    metrics = metrics_of(estimates) | {
        "n": len(labels_NK),
        "n_classes": labels_NK.shape[1],
        "n_classes_undefined": int(areas.undefined.sum()),
    }
    nothing = np.full(labels_NK.shape[1], np.nan)
    return Source(metrics, areas, nothing, at_threshold, estimates)


def score_targets(truth_NL: NDArray, predicted_NL: NDArray, draws: Draws) -> Source:
    """Score predicted numbers; of several targets every score is the mean."""
    targets: list[Estimates] = []
    for truth, predicted in zip(truth_NL.T, predicted_NL.T, strict=True):
        points, drawn = (regression_scores(truth, predicted, d) for d in (None, draws))
        targets.append({name: (float(points[name][0]), drawn[name]) for name in TARGET_SCORES})
    estimates = {
        name: (
            float(np.mean([each[name][0] for each in targets])),
            np.mean([each[name][1] for each in targets], axis=0),
        )
        for name in TARGET_SCORES
    }
    counts = {"n": len(truth_NL)} | ({"n_targets": len(targets)} if len(targets) > 1 else {})
    return Source(metrics_of(estimates) | counts, None, np.empty(0), [], estimates, targets)


def metrics_of(estimates: Estimates) -> dict[str, float | int]:
    """Return scores with the ends of their intervals, by name."""
    metrics: dict[str, float | int] = {}
    for name, (point, drawn_R) in estimates.items():
        metrics |= with_interval(name, point, drawn_R)
    return metrics


def per_target(
    names: Sequence[str], n: int, model: Source, baselines: Mapping[str, Source]
) -> list[dict[str, str | int | float]]:
    """Return per target: label, n, the scores with intervals, then those of each baseline."""
    rows = []
    for number, name in enumerate(names):
        row: dict[str, str | int | float] = {"label": name, "n": n}
        scores = dict(metrics_of(model.targets[number]))
        for baseline, source in baselines.items():
            for key, (point, _) in source.targets[number].items():
                scores[f"{baseline}_{key}"] = point
        rows.append(row | {key: round(value, 6) for key, value in scores.items()})
    return rows


def trivial_scores(train_labels: NDArray, rows: int) -> NDArray[np.float32]:
    """Return the means of the training labels for every row: shares of classes, or mean targets."""
    means = train_labels.mean(axis=0, dtype=np.float64)
    return np.tile(means.astype(np.float32), (rows, 1))
