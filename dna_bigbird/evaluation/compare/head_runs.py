"""The results of several promoter or chromatin models, and the labelled set of each."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from dna_bigbird.evaluation.model_results import ModelResult
from dna_bigbird.metrics.names import window_baseline
from dna_bigbird.metrics.scores import ModelMetrics, PredictorScores, shown

GROUP_NAMES = {"DNase": "DHS", "Histone": "HM"}
"""Names of label groups that mean the same as in publications."""


@dataclass(frozen=True)
class SetFacts:
    """The description that a labelled set holds."""

    sha256: str
    task: str
    negatives: str
    """How negatives were generated; empty for chromatin labels."""
    window_bp: int
    command: str
    """The call that wrote it, with its splits."""
    rows: dict[str, int]
    """Rows by split."""
    leaks: int | None = None
    """Pairs of rows that share bases or sequence between splits; None if there is no report."""

    @property
    def is_published(self) -> bool:
        """Whether its labels are those of the published bundle."""
        return self.command.startswith("deepsea-set")

    @property
    def split(self) -> str:
        """The test rows, in words.

        Example:
            >>> SetFacts("", "promoter", "", 300, "x --split.folds 5 --split.fold 1", {}).split
            'fold 1 of 5'
        """
        if self.is_published:
            return "chr8, chr9"
        words = shlex.split(self.command)
        options = {word: value for word, value in pairwise(words) if word.startswith("--")}
        folds = options.get("--split.folds", "0")
        if folds != "0":
            return f"fold {options.get('--split.fold', '0')} of {folds}"
        return options.get("--split.test", "?").strip("[]").replace('"', "")


@dataclass(frozen=True)
class HeadRun:
    """One fine-tuned model with its scores on the test rows, and the set it was scored on."""

    result: ModelResult
    facts: SetFacts
    seeds: tuple[int | None, ...] = ()
    """Seeds of the trainings whose mean scores these are; empty for a single training."""

    @property
    def name(self) -> str:
        """The name of the variant, or of the task for the run's own model."""
        return self.result.name.removeprefix("heads/")

    @property
    def metrics(self) -> ModelMetrics:
        """Scores on the test rows."""
        return self.result.metrics

    @property
    def described(self) -> str:
        """How the model was trained."""
        config = self.result.config
        trained = config.member_models or [config]
        weights = sorted({x.initial_weights for x in trained if x.initial_weights})
        members = len(config.member_models)
        return (
            (f"mean over {len(self.seeds)} seeds: " if self.seeds else "")
            + f"{config.encoder.num_layers} layers of {config.encoder.hidden_size}, "
            f"{shown(config.training.max_steps)} steps x {shown(config.examples_per_step)} windows"
            + (f" from {' and '.join(weights)} weights" if weights else "")
            + (f", mean of {members} models" if members > 1 else "")
            + (", with k-mer counts" if config.has_counts else "")
        )


class BaselineScores(NamedTuple):
    """A baseline, its scores, and the model on whose test rows they were computed."""

    key: str
    name: str
    scores: PredictorScores
    run: HeadRun


def by_set(runs: Sequence[HeadRun]) -> dict[str, list[HeadRun]]:
    """Return the runs by labelled set, in the order of their first run."""
    sets: dict[str, list[HeadRun]] = {}
    for run in runs:
        sets.setdefault(run.facts.sha256, []).append(run)
    return sets


def baseline_scores(runs: Sequence[HeadRun]) -> list[BaselineScores]:
    """Return every baseline of one set, each once."""
    baselines: dict[str, BaselineScores] = {}
    for run in runs:
        for key, scores in run.metrics.baselines.items():
            name = window_baseline(key)
            baselines.setdefault(key, BaselineScores(key, name, scores, run))
    return list(baselines.values())


def group_key(scores: PredictorScores, group: str) -> str:
    """Return the key of a group's median AUROC, by the name that the set uses for the group.

    Example:
        >>> group_key(PredictorScores({"median_auroc_DNase": 0.9}), "DHS")
        'median_auroc_DNase'
    """
    names = [group, *(name for name, same in GROUP_NAMES.items() if same == group)]
    return next(
        (f"median_auroc_{x}" for x in names if f"median_auroc_{x}" in scores),
        f"median_auroc_{group}",
    )


def groups_of(runs: Sequence[HeadRun]) -> list[str]:
    """Return the groups of labels: those of publications first, then the others."""
    groups = {GROUP_NAMES.get(x.group, x.group) for run in runs for x in run.result.labels}
    return ["TF", "DHS", "HM", *sorted(groups - {"TF", "DHS", "HM"})]
