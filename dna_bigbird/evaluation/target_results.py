"""Reads the scores of every target of a regression model: per_label.tsv of `evaluate`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.evaluation.result_files import as_float, read_table
from dna_bigbird.metrics.scores import Score
from dna_bigbird.models.label_types import HEADLINES, REGRESSION

BASELINE = "kmer"


@dataclass(frozen=True)
class TargetScore:
    """The scores of one target on the test rows, by name."""

    label: str
    model: Mapping[str, Score]
    kmer: Mapping[str, Score]
    """Without intervals; None where the k-mer baseline was not run."""


def read_targets(path: Path, rule: str) -> list[TargetScore]:
    """Read per_label.tsv of a regression model.

    Raises:
        InputError: If the file is missing or damaged.
    """
    names = HEADLINES[REGRESSION]
    columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    rows = read_table(path, ("label", *columns), rule)

    def number(row: dict[str, str], line: int, column: str) -> float:
        return as_float(row.get(column) or "nan", path, line)

    return [
        TargetScore(
            row["label"],
            {
                name: Score(*(number(row, i, f"{name}{end}") for end in ("", "_low", "_high")))
                for name in names
            },
            {name: Score(number(row, i, f"{BASELINE}_{name}")) for name in names},
        )
        for i, row in enumerate(rows, start=2)
    ]
