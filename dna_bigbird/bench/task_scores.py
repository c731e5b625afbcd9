"""Scores of one benchmark task by name, with their bootstrap draws; docs/metrics.md defines them.

Classes are predicted by the highest probability, labels of 0 and 1 at one half: no threshold is chosen.
"""

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.label_areas import AREAS, label_areas
from dna_bigbird.metrics.label_summary import macro_area
from dna_bigbird.metrics.seed_scores import LARGEST, SeedScores
from dna_bigbird.metrics.sources import Estimates
from dna_bigbird.metrics.task_results import Score
from dna_bigbird.metrics.typed_sources import score_classes, score_targets
from dna_bigbird.models.label_types import LOWER_IS_BETTER, MULTI_CLASS, REGRESSION

# N rows, L labels or classes, R bootstrap draws

SMALLEST = {"mcc": -1.0, "pearson": -1.0, "spearman": -1.0, "r2": -np.inf}
"""Of scores that can be negative; an interval ends there."""
AT_HALF = ("f1", "mcc")


def task_scores(label_type: str, labels_NL: NDArray, scores_NL: NDArray, draws: Draws) -> Estimates:
    """Return every score of a type of labels: the value, and its values under the draws (R,).

    Classes: `accuracy`, `mcc`, `macro_f1`, `macro_auroc`, `macro_auprc`; of two classes also `f1`,
    `auroc` and `auprc` of the second one. One label of 0 and 1: `auroc`, `auprc`, and at one half `f1`,
    `mcc`, `accuracy`. Several: `macro_auroc`, `macro_auprc`. Targets: `pearson`, `spearman`, `r2`, `rmse`.
    """
    if label_type == REGRESSION:
        return score_targets(labels_NL, scores_NL, draws).estimates
    if label_type == MULTI_CLASS:
        return _class_scores(labels_NL, scores_NL, draws)
    areas = label_areas(labels_NL, scores_NL, draws, iter)
    if labels_NL.shape[1] > 1:
        return {f"macro_{name}": macro_area(areas, i) for i, name in enumerate(AREAS)}
    estimates = {
        name: (float(areas.point[i, 0]), areas.drawn[i, 0]) for i, name in enumerate(AREAS)
    }
    called = np.stack([scores_NL[:, 0] < 0.5, scores_NL[:, 0] >= 0.5], axis=1)
    both = np.stack([1 - labels_NL[:, 0], labels_NL[:, 0]], axis=1)
    of_classes = _class_scores(both, called.astype(float), draws)
    return estimates | {name: of_classes[name] for name in (*AT_HALF, "accuracy")}


def _class_scores(labels_NK: NDArray, scores_NK: NDArray, draws: Draws) -> Estimates:
    source = score_classes(labels_NK, scores_NK, draws)
    estimates = dict(source.estimates)
    if labels_NK.shape[1] == 2:
        for index, name in enumerate(AREAS):
            estimates[name] = (float(source.areas.point[index, 1]), source.areas.drawn[index, 1])
        called = scores_NK.argmax(axis=1)
        point = float(confusion(labels_NK[:, 1], called, 0.5).f1()[0])
        estimates["f1"] = (point, confusion(labels_NK[:, 1], called, 0.5, draws).f1())
    return estimates


def over_seeds(trainings: list[Estimates], draws: Draws) -> SeedScores:
    """Return the scores of the trainings of one source as one: a training per seed."""
    names = list(trainings[0])
    return SeedScores(
        {name: [each[name][0] for each in trainings] for name in names},
        {name: np.mean([each[name][1] for each in trainings], axis=0) for name in names},
        len(draws.times),
    )


def seed_score(scores: SeedScores, name: str) -> Score:
    """Return the mean of a score over seeds, with the interval of `metrics.seed_scores`."""
    low, high = scores.mean(name).ends
    values = scores.values[name]
    return Score(
        _number(float(np.mean(values))),
        _number(float(np.maximum(SMALLEST.get(name, 0.0), low))),
        _number(high if name in LOWER_IS_BETTER else float(np.minimum(LARGEST, high))),
        _number(scores.sd(name)),
        tuple(map(_number, values)),
    )


def seed_difference(model: SeedScores, other: SeedScores, name: str) -> Score:
    """Return the model's mean of a score minus another's, on the same draws of the test rows."""
    estimate = model.minus(other, name)
    return Score(*map(_number, (estimate.value, *estimate.ends)))


def _number(value: float | None) -> float | None:
    """Return a number for JSON: None where it is not defined."""
    return None if value is None or not np.isfinite(value) else round(float(value), 6)
