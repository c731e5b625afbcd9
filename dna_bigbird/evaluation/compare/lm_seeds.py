"""Trainings of one variant with several seeds as one run: means, and intervals over seeds and examples."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.compare.lm_runs import SCORES, Run, cells, seed_sums
from dna_bigbird.evaluation.model_results import HistoryRow
from dna_bigbird.metrics.scores import ModelMetrics, Score, is_number
from dna_bigbird.metrics.seed_means import SeedSums, mean

PARTS = ("by_chromosome", "by_repeat_class")


def join_seeds(runs: Sequence[Run]) -> list[Run]:
    """Return one run per variant; the trainings in folders seedN of a folder are one variant.

    Raises:
        InputError: If they differ in more than the seed, or lack the scores of each example.
    """
    variants: dict[tuple[Path, str], list[Run]] = defaultdict(list)
    for run in runs:
        folder = run.folder.absolute()
        variants[folder if folder.name == run.name else folder.parent, run.name].append(run)
    for trainings in variants.values():
        _check(trainings)
    return [
        joined(trainings) if len(trainings) > 1 else trainings[0] for trainings in variants.values()
    ]


def _check(trainings: Sequence[Run]) -> None:
    first, *others = trainings
    if others:
        for run in trainings:
            if run.examples is None:
                raise InputError(
                    f"{run.folder / 'examples.tsv'}: no such file; expected the scores of each example "
                    "where a variant has several seeds (dna-bigbird evaluate-lm --example_scores)"
                )
    for run, other in itertools.combinations(trainings, 2):
        if run.config.seed == other.config.seed:
            raise InputError(
                f"{other.folder}: seed {other.config.seed}, as {run.folder}; expected one training per seed"
            )
    for other in others:
        if (other.config.encoder, other.config.training) != (
            first.config.encoder,
            first.config.training,
        ):
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
    """Return the sums of each example for all trainings of a run; each must have them."""
    return seed_sums([training.examples for training in run.trainings], score)


def joined(trainings: Sequence[Run]) -> Run:
    """Return the mean of several trainings, whose scores have t intervals over seeds and examples."""
    first = trainings[0]
    run = replace(first, folder=first.folder.parent, members=tuple(trainings), examples=None)
    values = dict(first.metrics.values)
    for score in SCORES:
        if score in first.metrics:
            estimate = mean(sums_of(run, score))
            values |= _rounded(cells(score, Score(estimate.value, *estimate.ends)))
    values["baselines"] = {k: _own(x) for k, x in values.get("baselines", {}).items()}
    for name in PARTS:
        values[name] = _mean_parts(trainings, name)
    return replace(run, metrics=ModelMetrics.from_json(values), history=_mean_history(trainings))


def _own(baseline: object) -> object:
    """Return the scores of a baseline without its differences to one of the trainings."""
    if not isinstance(baseline, dict):
        return baseline
    return {key: x for key, x in baseline.items() if not key.startswith("model_minus_")}


def _rounded(values: dict[str, float | None]) -> dict[str, float | None]:
    return {key: round(value, 6) if is_number(value) else None for key, value in values.items()}


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
    return {"seeds": len(run.trainings), **_rounded(sds)}


def no_seed_cells(runs: Sequence[Run]) -> dict[str, None]:
    """Return the empty cells of a row that is not of a training."""
    return dict.fromkeys(seed_cells(runs[0], runs))
