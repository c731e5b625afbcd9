"""The results of several pretrained models, one per folder."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.model_results import (
    HistoryRow,
    as_float,
    count_parameters,
    read_history,
    read_json_object,
    read_model_config,
    read_table,
)
from dna_bigbird.evaluation.rendering import sentence
from dna_bigbird.metrics.language import COLUMNS
from dna_bigbird.metrics.scores import ModelMetrics, Score, is_number
from dna_bigbird.metrics.seed_means import SeedSums
from dna_bigbird.metrics.verdicts import MASKED_BITS, ranking
from dna_bigbird.models.config import EncoderConfig

# Scores of each test example of a training, as `evaluate-lm --example_scores` writes them.

SCORES = {
    "bits_per_base_masked": ("nats", "bp"),
    "bits_per_base_all_masked": ("nats_all_masked", "bp"),
    "mlm_accuracy": ("right", "tokens"),
    "mlm_accuracy_all_masked": ("right_all_masked", "tokens"),
}
"""Columns whose ratio of sums is a score."""


@dataclass(frozen=True)
class ExampleTable:
    """One row per test example, in the order of the examples."""

    path: Path
    columns: dict[str, np.ndarray]
    """By the names in `metrics.language.COLUMNS`."""

    def has_tokens_of(self, other: "ExampleTable") -> bool:
        """Return True if both have as many hidden tokens and bases in every example."""
        return all(
            np.array_equal(self.columns[name], other.columns[name])
            for name in ("example", "tokens", "bp")
        )


def read_examples(path: Path) -> ExampleTable:
    """Read the scores of a training.

    Raises:
        InputError: If the file is damaged.
    """
    rows = read_table(path, COLUMNS, "the rule evaluate_lm_variant")
    values = [
        [as_float(row[name], path, line) for name in COLUMNS] for line, row in enumerate(rows, 2)
    ]
    for line, row in enumerate(values, start=2):
        if not all(map(is_number, row)):
            raise InputError(f"{path}:{line}: not a number; expected one in every column")
    if not values:
        raise InputError(f"{path}: no example; expected one line per example below the header")
    return ExampleTable(path, dict(zip(COLUMNS, np.array(values).T, strict=True)))


def seed_sums(tables: Sequence[ExampleTable], score: str) -> SeedSums:
    """Return the sums of a score over the trainings of a variant, in bits where it is one of nats."""
    top, bottom = SCORES[score]
    unit = math.log(2) if top.startswith("nats") else 1.0
    return SeedSums(
        np.array([table.columns[top] / unit for table in tables]), tables[0].columns[bottom]
    )


_SEED_FOLDER = re.compile(r"seed[0-9]+")


@dataclass(frozen=True)
class Run:
    """One pretraining with its scores on the test split, or the mean of those of several seeds."""

    name: str
    config: BundleConfig
    metrics: ModelMetrics
    history: tuple[HistoryRow, ...]
    parameters: int | None
    folder: Path
    examples: ExampleTable | None = None
    """Scores of each test example, if `evaluate-lm` wrote them."""
    members: tuple["Run", ...] = ()
    """The trainings of a mean over seeds; empty for a single training."""

    @property
    def trainings(self) -> tuple["Run", ...]:
        """The single trainings."""
        return self.members or (self,)

    @property
    def seed_text(self) -> str:
        """The seeds of all trainings."""
        return ", ".join(str(run.config.seed) for run in self.trainings)

    @property
    def encoder(self) -> EncoderConfig:
        """Settings of the encoder."""
        return self.config.encoder

    @property
    def max_steps(self) -> int:
        """Optimizer steps of the whole run."""
        return self.config.training.max_steps

    @property
    def tokens_per_step(self) -> int:
        """Most tokens that one optimizer step reads: examples times their greatest length."""
        return self.config.examples_per_step * self.encoder.max_tokens

    @property
    def bits(self) -> Score:
        """Bits per base of masked tokens."""
        return self.metrics.score(MASKED_BITS)

    @property
    def accuracy(self) -> Score:
        """Share of masked tokens that are predicted exactly."""
        return self.metrics.score("mlm_accuracy")


def variant_of(folder: Path) -> str:
    """Return the name of the variant that a folder of results belongs to.

    Example:
        >>> variant_of(Path("runs/full_512")), variant_of(Path("runs/full_512/seed0"))
        ('full_512', 'full_512')
    """
    folder = Path(folder).absolute()
    return (folder.parent if _SEED_FOLDER.fullmatch(folder.name) else folder).name


def read_run(folder: Path) -> Run:
    """Read the results of a training: `model/` (a scored bundle), `trained/history.tsv`, `examples.tsv`.

    Raises:
        InputError: If a file is missing or damaged, or the scores are not of the test split.
    """
    folder = Path(folder)
    rule = "the rule evaluate_lm_variant"
    config = read_model_config(folder / "model", rule)
    metrics = ModelMetrics.from_json(read_json_object(folder / "model" / "metrics.json", rule))
    if metrics.split != "test" or MASKED_BITS not in metrics:
        raise InputError(
            f"{folder / 'model' / 'metrics.json'}: scores of the split {metrics.split!r}; expected "
            "bits per base on the test split, as dna-bigbird evaluate-lm writes them"
        )
    examples = folder / "examples.tsv"
    return Run(
        variant_of(folder),
        config,
        metrics,
        read_history(folder / "trained" / "history.tsv"),
        count_parameters(folder / "model" / "model.safetensors"),
        folder,
        read_examples(examples) if examples.is_file() else None,
    )


def differences(runs: Sequence[Run]) -> list[str]:
    """Name the settings that differ between the runs and should be equal in a fair comparison."""
    settings = {
        "tokens per step": [run.tokens_per_step for run in runs],
        "steps": [run.max_steps for run in runs],
        "seed": [run.seed_text for run in runs],
        "assembly": [run.config.assembly for run in runs],
    }
    names = [run.name for run in runs]
    return [
        sentence("notes.differs", setting, list(zip(names, values, strict=True)))
        for setting, values in settings.items()
        if len(set(values)) > 1
    ]


def ranking_notes(
    named: Sequence[tuple[str, Score]], what: str, *, higher_is_better: bool
) -> list[str]:
    """Compare the best of some scores with each of the others, in sentences.

    Example:
        >>> scores = [("a", Score(1.9, 1.85, 1.95)), ("b", Score(1.7, 1.65, 1.75))]
        >>> ranking_notes(scores, "bits per base", higher_is_better=False)
        ['b is ahead of a: bits per base 1.700 against 1.900; the 95 % intervals do not overlap.']
    """
    ranked = ranking(named, higher_is_better=higher_is_better)
    return [sentence("notes.ranked", x, what) for x in ranked]


def cells(name: str, score: Score) -> dict[str, float | None]:
    """Return a score as three columns of a table."""
    return {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
