"""The results of several pretrained models, one per folder."""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.rounding import rounded
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
from dna_bigbird.metrics.seed_means import SeedSums, mean
from dna_bigbird.metrics.verdicts import MASKED_BITS
from dna_bigbird.models.config import EncoderConfig

SCORES = {
    "bits_per_base_masked": ("nats", "bp"),
    "bits_per_base_all_masked": ("nats_all_masked", "bp"),
    "mlm_accuracy": ("right", "tokens"),
    "mlm_accuracy_all_masked": ("right_all_masked", "tokens"),
}
"""Columns whose ratio of sums is a score."""


@dataclass(frozen=True)
class BlockTable:
    """One row per block of the genome (per example in files of version 0.1), in the order of the file."""

    path: Path
    blocks: list[str]
    """Names of the rows."""
    columns: dict[str, np.ndarray]
    """By the names in `metrics.language.COLUMNS` after the first."""

    def has_tokens_of(self, other: "BlockTable") -> bool:
        """Return True if both have as many hidden tokens and bases in every block."""
        return self.blocks == other.blocks and all(
            np.array_equal(self.columns[name], other.columns[name]) for name in ("tokens", "bp")
        )


def read_blocks(path: Path) -> BlockTable:
    """Read examples.tsv of a training."""
    first, *names = COLUMNS
    rows = read_table(path, tuple(names), "the rule evaluate_lm_variant")
    values = [
        [as_float(row[name], path, line) for name in names] for line, row in enumerate(rows, 2)
    ]
    for line, row in enumerate(values, start=2):
        if not all(map(is_number, row)):
            raise InputError(f"{path}:{line}: not a number; expected one in every column")
    if not values:
        raise InputError(f"{path}: no scores; expected one line per block below the header")
    blocks = [row.get(first) or row.get("example", "") for row in rows]
    return BlockTable(path, blocks, dict(zip(names, np.array(values).T, strict=True)))


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
    examples: BlockTable | None = None
    """Scores by block of the test split, if `evaluate-lm` wrote them."""
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
    def real_tokens_per_step(self) -> int | None:
        """Tokens that one optimizer step reads on average, whole sentences as they fill the examples; None is unknown."""
        mean = self.config.tokens_per_example
        return None if mean is None else round(self.config.examples_per_step * mean)

    @property
    def bits(self) -> Score:
        """Bits per base of masked tokens."""
        return self.metrics.score(MASKED_BITS)

    @property
    def accuracy(self) -> Score:
        """Share of masked tokens that are predicted exactly."""
        return self.metrics.score("mlm_accuracy")


def variant_of(folder: Path) -> str:
    """Return the variant of a folder: its name, or that of the folder of a seed0, seed1, ..."""
    folder = Path(folder).absolute()
    return (folder.parent if _SEED_FOLDER.fullmatch(folder.name) else folder).name


def read_run(folder: Path) -> Run:
    """Read the results of a training: `model/` (a scored bundle), `trained/`, `examples.tsv`."""
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
        read_blocks(examples) if examples.is_file() else None,
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
    ] + _real_tokens(runs)


def _real_tokens(runs: Sequence[Run]) -> list[str]:
    """Return the tokens per step of each run in a note, if they differ by more than 1 %."""
    known = [(run.name, run.real_tokens_per_step) for run in runs if run.real_tokens_per_step]
    counts = [count for _, count in known] or [1]
    is_equal = max(counts) <= 1.01 * min(counts)
    return [] if is_equal else [sentence("notes.differs", "real tokens per step", known)]


def ranking_notes(
    named: Sequence[tuple[str, Score]], what: str, *, higher_is_better: bool
) -> list[str]:
    """Return two or more scores in their order, in a sentence; those that are not defined are left out.

    Example:
        >>> scores = [("a", Score(1.9, 1.85, 1.95)), ("b", Score(1.7, 1.65, 1.75))]
        >>> ranking_notes(scores, "bits per base", higher_is_better=False)[0].split(". ")[0]
        'By bits per base, best first: b 1.700 [1.650, 1.750]; a 1.900 [1.850, 1.950]'
    """
    known = [(name, score) for name, score in named if is_number(score.value)]
    known.sort(key=lambda pair: pair[1].value, reverse=higher_is_better)
    return [sentence("notes.ranked", known, what)] if len(known) > 1 else []


def cells(name: str, score: Score) -> dict[str, float | None]:
    """Return a score as three columns of a table."""
    return {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}


PARTS = ("by_chromosome", "by_repeat_class", "by_class")


def join_seeds(runs: Sequence[Run]) -> list[Run]:
    """Return one run per variant: trainings that differ in the seed only are its folders seedN."""
    variants: dict[tuple[Path, str], list[Run]] = defaultdict(list)
    for run in runs:
        folder = run.folder.absolute()
        variants[folder if folder.name == run.name else folder.parent, run.name].append(run)
    for trainings in variants.values():
        _check(trainings)
    return [joined(runs) if len(runs) > 1 else runs[0] for runs in variants.values()]


def _check(trainings: Sequence[Run]) -> None:
    first, *others = trainings
    for run in trainings:
        if others and run.examples is None:
            raise InputError(
                f"{run.folder / 'examples.tsv'}: no such file; expected the scores of each block "
                "where a variant has several seeds (dna-bigbird evaluate-lm --example_scores)"
            )
    for run, other in itertools.combinations(trainings, 2):
        if run.config.seed == other.config.seed:
            raise InputError(
                f"{other.folder}: seed {other.config.seed}, as {run.folder}; expected one training per seed"
            )
    for other in others:
        settings = [(run.config.encoder, run.config.training) for run in (first, other)]
        if settings[0] != settings[1]:
            raise InputError(
                f"{other.folder}: other settings of the encoder or the training than {first.folder}; "
                "expected trainings of one variant that differ in the seed only"
            )
        if not other.examples.has_tokens_of(first.examples):
            raise InputError(
                f"{other.examples.path}: other test examples than {first.examples.path}; expected equal "
                "--seed and --examples of dna-bigbird evaluate-lm"
            )


def sums_of(run: Run, score: str) -> SeedSums:
    """Return the sums of each block for all trainings of a run, in bits where it is of nats."""
    top, bottom = SCORES[score]
    unit = math.log(2) if top.startswith("nats") else 1.0
    tables = [training.examples.columns for training in run.trainings]
    return SeedSums(np.array([table[top] / unit for table in tables]), tables[0][bottom])


def joined(trainings: Sequence[Run]) -> Run:
    """Return the mean of several trainings, whose scores have t intervals over seeds and blocks."""
    first = trainings[0]
    run = replace(first, folder=first.folder.parent, members=tuple(trainings), examples=None)
    values = dict(first.metrics.values)
    for score in SCORES:
        if score in first.metrics:
            estimate = mean(sums_of(run, score))
            values |= rounded(cells(score, Score(estimate.value, *estimate.ends)))
    values["baselines"] = _without_differences(values.get("baselines", {}))
    for name in PARTS:
        values[name] = _mean_parts(trainings, name)
    return replace(run, metrics=ModelMetrics.from_json(values), history=_mean_history(trainings))


def _without_differences(table: dict) -> dict:
    """Return nested tables without differences to one of the trainings."""
    return {
        key: _without_differences(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if not key.startswith("model_minus_")
    }


def _mean_parts(trainings: Sequence[Run], division: str) -> dict[str, dict]:
    """Return means over seeds of the scores by part, of parts that all have; they have no interval."""
    tables = [run.metrics.values.get(division, {}) for run in trainings]
    return {
        part: {
            key: None if key.endswith(("_low", "_high")) else _mean([t[part][key] for t in tables])
            for key in entry
        }
        for part, entry in tables[0].items()
        if all(part in table for table in tables)
    }


def _mean(values: Sequence[float | int | None]) -> float | int | None:
    if len(set(values)) == 1:
        return values[0]
    return round(float(np.mean(values)), 6) if all(map(is_number, values)) else None


def _mean_history(trainings: Sequence[Run]) -> tuple[HistoryRow, ...]:
    """Return the logged numbers as means over seeds, where all trainings have one."""
    values: dict[tuple[int, str, str], list[float]] = defaultdict(list)
    for run in trainings:
        for row in run.history:
            values[row.step, row.split, row.name].append(row.value)
    return tuple(
        HistoryRow(*key, float(np.mean(numbers)))
        for key, numbers in values.items()
        if len(numbers) == len(trainings)
    )


def seed_cells(run: Run, runs: Sequence[Run]) -> dict[str, float | int | None]:
    """Return number of seeds and standard deviations over them, if any of the runs has several."""
    if not any(other.members for other in runs):
        return {}
    sds = {
        f"{name}_sd": sums_of(run, score).sd if run.members else None
        for name, score in (("bits_per_base", "bits_per_base_masked"), ("mlm_accuracy",) * 2)
    }
    return {"seeds": len(run.trainings), **rounded(sds)}
