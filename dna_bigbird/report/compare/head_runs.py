"""Several promoter or chromatin models beside each other: what is known of each and of its set."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dna_bigbird.report.markup import shown
from dna_bigbird.report.model_results import ModelResult

BASELINES = {
    "kmer": "k-mer regression",
    "gc": "GC content",
    "cnnprom": "CNNProm, trained here",
    "deepromoter": "DeePromoter, trained here",
    "deepsea": "DeepSEA CNN, trained here",
}
GROUP_NAMES = {"DNase": "DHS", "Histone": "HM"}
"""Names of label groups that mean the same as in publications."""


@dataclass(frozen=True)
class SetFacts:
    """What a labelled set says of itself."""

    sha256: str
    task: str
    negatives: str
    """How negatives were made; empty for chromatin labels."""
    window_bp: int
    command: str
    """The call that made it, with its splits."""
    rows: dict[str, int]
    """Rows by split."""
    leaks: int | None = None
    """Pairs of rows that share bases or sequence between splits; None if nobody looked."""

    @property
    def is_published(self) -> bool:
        """Whether its labels are those of the published bundle."""
        return self.command.startswith("deepsea-set")

    @property
    def split(self) -> str:
        """What the test rows are, in words.

        Example:
            >>> SetFacts("", "promoter", "", 300, "x --split.folds 5 --split.fold 1", {}).split
            'fold 1 of 5'
        """
        if self.is_published:
            return "chr8, chr9"
        words = shlex.split(self.command)
        found = {word: value for word, value in pairwise(words) if word[:2] == "--"}
        if found.get("--split.folds", "0") != "0":
            return f"fold {found.get('--split.fold', '0')} of {found['--split.folds']}"
        return found.get("--split.test", "?").strip("[]").replace('"', "")


@dataclass(frozen=True)
class HeadRun:
    """One fine-tuned model with its scores on the test rows, and the set it was scored on."""

    result: ModelResult
    facts: SetFacts

    @property
    def name(self) -> str:
        """The name of the variant, or of the task for the run's own model."""
        return self.result.name.removeprefix("heads/")

    @property
    def metrics(self) -> dict:
        """Scores on the test rows."""
        return self.result.metrics

    @property
    def baselines(self) -> dict[str, dict]:
        """Scores of each baseline on the same rows."""
        return self.metrics.get("baselines", {})

    @property
    def described(self) -> str:
        """How the model was made."""
        config = self.result.config
        encoder, training = config.get("encoder", {}), config.get("training", {})
        steps, windows = (
            shown(x) for x in (training.get("max_steps"), config.get("examples_per_step"))
        )
        members = config.get("member_models", [config])
        weights = sorted({str(m["initial_weights"]) for m in members if "initial_weights" in m})
        return (
            f"{encoder.get('num_layers', '?')} layers of {encoder.get('hidden_size', '?')}, "
            f"{steps} steps x {windows} windows"
            + (f" from {' and '.join(weights)} weights" if weights else "")
            + (f", mean of {len(members)} models" if len(members) > 1 else "")
        )


def by_set(runs: Sequence[HeadRun]) -> dict[str, list[HeadRun]]:
    """Return the runs by labelled set, in the order of their first run."""
    found: dict[str, list[HeadRun]] = {}
    for run in runs:
        found.setdefault(run.facts.sha256, []).append(run)
    return found


def baseline_scores(runs: Sequence[HeadRun]) -> list[tuple[str, dict, HeadRun]]:
    """Return (title, scores, run) of every baseline of one set, each once."""
    found: dict[str, tuple[str, dict, HeadRun]] = {}
    for run in runs:
        for kind, entry in run.baselines.items():
            found.setdefault(kind, (BASELINES.get(kind, kind), entry, run))
    return list(found.values())


def group_key(metrics: dict, group: str) -> str:
    """Return the key of a group's median AUROC, under whichever name the set gives the group.

    Example:
        >>> group_key({"median_auroc_DNase": 0.9}, "DHS")
        'median_auroc_DNase'
    """
    names = [group, *(name for name, same in GROUP_NAMES.items() if same == group)]
    return next(
        (f"median_auroc_{x}" for x in names if f"median_auroc_{x}" in metrics),
        f"median_auroc_{group}",
    )


def groups_of(runs: Sequence[HeadRun]) -> list[str]:
    """Return the groups of labels: those of publications first, then the others."""
    found = {GROUP_NAMES.get(x.group, x.group) for run in runs for x in run.result.labels}
    return ["TF", "DHS", "HM", *sorted(found - {"TF", "DHS", "HM"})]
