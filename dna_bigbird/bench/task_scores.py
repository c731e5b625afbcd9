"""Scores of one benchmark task by name, with their bootstrap draws; docs/reference/metrics.md defines them.

Classes are predicted by the highest probability, labels of 0 and 1 at one half: no threshold is chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird import __version__
from dna_bigbird.bench.suites.suite import Suite, Task
from dna_bigbird.core.choices import check_fields
from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws, draw_units, percentile_interval
from dna_bigbird.metrics.label_areas import AREAS, label_areas, macro_area
from dna_bigbird.metrics.seed_means import LARGEST, SeedScores
from dna_bigbird.metrics.sources import Estimates, score_classes, score_targets
from dna_bigbird.metrics.task_results import Score, TaskResult
from dna_bigbird.models.label_types import LOWER_IS_BETTER, MULTI_CLASS, REGRESSION
from dna_bigbird.prediction.partial_results import checksums_of
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig

Method = Literal["full", "lora", "probe"]
"""Fine-tune all weights; low-rank updates of the encoder; a regression on the encoder as it is."""

PROBE = {
    "max_steps": 1, "validate_every": 1, "learning_rate": 1e-9, "head_learning_rate": 0.0,
    "weight_decay": 0.0, "optimizer": "adamw", "start_at_probe": True, "start_at_base_rates": False,
}  # fmt: skip
"""The regression alone: one step at a rate that changes nothing."""


@dataclass(frozen=True)
class TrainingChoice:
    """How every task of a suite is trained and scored."""

    method: Method
    seeds: tuple[int, ...]
    training: LabelTrainConfig
    head: LabelHeadConfig
    threads: int
    bootstrap_seed: int
    replicates: int
    """Bootstrap draws of the test rows."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class TaskRun:
    """One task, the model, and how it is trained and scored."""

    suite: Suite
    task: Task
    model: Path
    """Bundle: a pretrained encoder, or a classifier whose encoder is taken."""
    folder: Path
    """Of finished parts of this task, read again when the command is started again."""
    choice: TrainingChoice

    @cached_property
    def checksums(self) -> dict[str, Any]:
        """Checksums of the model's weights and of its config.json, which has those of the vocabulary."""
        return checksums_of([self.model], None)

    @property
    def training(self) -> LabelTrainConfig:
        """How the model is trained: on both strands if not given; a probe is not trained further."""
        training = self.choice.training
        if training.both_strands is None:  # the protocol, not validation rows, has the strands
            training = replace(training, both_strands=True)
        return replace(training, **PROBE) if self.choice.method == "probe" else training

    def draw(self, units: NDArray | Sequence[str]) -> Draws:
        """Draw rows for intervals: those of one unit together."""
        choice = self.choice
        return draw_units(
            len(units), replicates=choice.replicates, seed=choice.bootstrap_seed, units=units
        )

    def result(self, *, settings: dict[str, Any], **values: Any) -> TaskResult:
        """Return the result, with these settings after those of every protocol."""
        of_every_protocol = {
            "model": self.model.resolve().name,
            "model_sha256": self.checksums["model"][0],
            "version": __version__,
            "replicates": self.choice.replicates,
            "bootstrap_seed": self.choice.bootstrap_seed,
        }
        return TaskResult(
            suite=self.suite.name,
            task=self.task.name,
            about=self.task.about,
            metric=self.task.metric,
            protocol=self.task.protocol,
            published=self.task.published,
            settings=of_every_protocol | settings,
            **values,
        )


# Scores of sequences and their changed forms: which one a model ranks higher, and by how much.
#
# Without a control: the share of pairs whose real sequence scores higher than the changed one (Patel et
# al. 2024, DART-Eval, task 1). With a control, an equally large change elsewhere: the share whose score falls
# more by the change than by the control. One half is chance, and a tie counts one half.

# N pairs, U units, R bootstrap draws

ACCURACY, MEAN_DIFFERENCE = "accuracy", "mean_difference"
MEAN_FALL, MEAN_CONTROL_FALL = "mean_fall", "mean_control_fall"


@dataclass(frozen=True)
class PairScores:
    """What a source gives to each pair; (N,) each, NaN where it has no score."""

    real: NDArray[np.float64]
    changed: NDArray[np.float64]
    control: NDArray[np.float64] | None = None
    """None: the pairs have no control."""

    def values(self) -> dict[str, NDArray[np.float64]]:
        """Return the scores that are means over pairs, (N,) each, by name.

        `accuracy`: 1, 0.5 for a tie, or 0. `mean_difference`: real minus changed, or with a control the
        control's minus the changed one's. With a control also `mean_fall` and `mean_control_fall`:
        how far each of the two changes lowers the score.

        Example:
            >>> pairs = PairScores(np.array([3.0, 3.0]), np.array([1.0, 2.0]), np.array([3.0, 2.0]))
            >>> {name: value.tolist() for name, value in pairs.values().items()}["accuracy"]
            [1.0, 0.5]
        """
        above = self.real if self.control is None else self.control
        difference = above - self.changed
        won = np.where(np.isnan(difference), np.nan, (np.sign(difference) + 1) / 2)
        scores = {ACCURACY: won, MEAN_DIFFERENCE: difference}
        if self.control is not None:
            scores[MEAN_FALL] = self.real - self.changed
            scores[MEAN_CONTROL_FALL] = self.real - self.control
        return scores

    def keep(self, rows: NDArray) -> "PairScores":
        """Return the scores of some pairs."""
        control = None if self.control is None else self.control[rows]
        return PairScores(self.real[rows], self.changed[rows], control)


def drawn_means(values_N: NDArray[np.float64], draws: Draws) -> NDArray[np.float64]:
    """Return the mean under each draw, (R,); values that are NaN are left out."""
    is_defined = np.isfinite(values_N)
    units, count = draws.units[is_defined], len(draws.times)
    sums_U = np.bincount(units, values_N[is_defined], minlength=count)
    sizes_U = np.bincount(units, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [(sums_U @ times_UR) / (sizes_U @ times_UR) for times_UR in draws.parts(1)]
    return np.concatenate(parts) if parts else np.empty(0)


def mean_of_defined(values_N: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not NaN; NaN of none."""
    defined = values_N[np.isfinite(values_N)]
    return float(defined.mean()) if len(defined) else np.nan


def mean_score(values_N: NDArray[np.float64], draws: Draws) -> Score:
    """Return the mean over pairs with its 95 % percentile interval."""
    return interval_score(mean_of_defined(values_N), drawn_means(values_N, draws))


def interval_score(value: float, drawn_R: NDArray[np.float64]) -> Score:
    """Return a score with the interval of its values under the draws; None where it is not defined."""
    low, high = percentile_interval(drawn_R) if len(drawn_R) else (np.nan, np.nan)
    return Score(*map(number_of, (value, low, high)))


# N rows, L labels, classes or targets


def strand_agreement(
    label_type: str, forward_NL: NDArray, reverse_NL: NDArray
) -> dict[str, float | None]:
    """Return the flip rate and the correlation of the scores of both strands; None is not defined.

    `flip_rate`: share of rows with another likeliest class; of labels, share of values on the other
    side of one half; absent for targets. `correlation`: Pearson's, without the first class.

    Example:
        >>> forward, reverse = np.array([[0.9], [0.2], [0.6]]), np.array([[0.8], [0.1], [0.3]])
        >>> agreement = strand_agreement("binary", forward, reverse)
        >>> [round(agreement[name], 3) for name in ("flip_rate", "correlation")]
        [0.333, 0.948]
    """
    agreement: dict[str, float | None] = {}
    if label_type == MULTI_CLASS:
        agreement["flip_rate"] = float((forward_NL.argmax(1) != reverse_NL.argmax(1)).mean())
        forward_NL, reverse_NL = forward_NL[:, 1:], reverse_NL[:, 1:]
    elif label_type != REGRESSION:
        agreement["flip_rate"] = float(((forward_NL >= 0.5) != (reverse_NL >= 0.5)).mean())
    is_defined = min(forward_NL.std(), reverse_NL.std()) > 0
    correlation = np.corrcoef(forward_NL.ravel(), reverse_NL.ravel())[0, 1] if is_defined else None
    agreement["correlation"] = None if correlation is None else float(correlation)
    return agreement


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
    """Return the mean of a score over seeds, with the interval of `metrics.seed_means`."""
    low, high = scores.mean(name).ends
    values = scores.values[name]
    return Score(
        number_of(float(np.mean(values))),
        number_of(float(np.maximum(SMALLEST.get(name, 0.0), low))),
        number_of(high if name in LOWER_IS_BETTER else float(np.minimum(LARGEST, high))),
        number_of(scores.sd(name)),
        tuple(map(number_of, values)),
    )


def seed_difference(model: SeedScores, other: SeedScores, name: str) -> Score:
    """Return the model's mean of a score minus another's, on the same draws of the test rows."""
    estimate = model.minus(other, name)
    return Score(*map(number_of, (estimate.value, *estimate.ends)))


def number_of(value: float | None) -> float | None:
    """Return a number for JSON: None where it is not defined."""
    return None if value is None or not np.isfinite(value) else round(float(value), 6)
