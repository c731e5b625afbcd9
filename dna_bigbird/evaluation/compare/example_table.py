"""Scores of each test example of a training, as `evaluate-lm --example_scores` writes them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.result_files import as_float, read_table
from dna_bigbird.metrics.example_sums import COLUMNS
from dna_bigbird.metrics.scores import is_number
from dna_bigbird.metrics.seed_means import SeedSums

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
    """By the names in `metrics.example_sums.COLUMNS`."""

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
