"""What the commands that build a labelled set share: its recorded command, and the result."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.dataframes import DataFrame
from dna_bigbird.core.results import Result

ENOUGH = 200
"""Positives. With as many negatives, an AUROC of 0.9 has a standard error of 0.016 (0.037 with 38
positives, 0.007 with 1,130; Hanley and McNeil 1982)."""


def few_positives(count: int, name: object) -> str | None:
    """Return what to tell the user of a validation split, or None if it has enough positives.

    Example:
        >>> few_positives(38, "set.h5").partition(":")[2].partition(",")[0]
        ' 38 positives for validation'
        >>> few_positives(200, "set.h5")
    """
    if count >= ENOUGH:
        return None
    return (
        f"{name}: {count} positives for validation, expected at least {ENOUGH}: the choice of the "
        "best step and of the threshold is uncertain. Hold out more for validation: --validation_fraction "
        "of a table of sequences; more regions in --split.validation, or fewer --split.folds"
    )


if TYPE_CHECKING:
    from dna_bigbird.genome import Genome
    from dna_bigbird.labelled.labelled_data import LabelledData
    from dna_bigbird.labelled.splits import SplitConfig


def counts_in_words(counts: Mapping[str, float]) -> str:
    """Return the counts of a set that are not 0; '' if there is none.

    Example:
        >>> counts_in_words({"rows_read": 1200, "left_out_with_n": 1, "left_out_leaks_train": 28, "rows_train": 1171})
        '1,200 rows read, 1,171 rows in train; left out: 1 with N, 28 leaks in train'
    """
    from dna_bigbird.labelled.splits import SPLITS

    kept: list[str] = []
    left_out: list[str] = []
    for key, value in counts.items():
        name = key.removeprefix("left_out_")
        what, _, split = name.rpartition("_")
        words = f"{what} in {split}" if split in SPLITS else name
        first, blank, rest = words.replace("_", " ").replace("with n", "with N").partition(" ")
        if value == 1 and not first.endswith("ss"):
            first = first.removesuffix("s")
        if value:
            (kept if name == key else left_out).append(f"{value:,} {first}{blank}{rest}")
    parts = [", ".join(kept), f"left out: {', '.join(left_out)}" if left_out else ""]
    return "; ".join(filter(None, parts))


@dataclass(frozen=True)
class LabelledSetFile(Result):
    """A labelled set as it was written."""

    output: Path
    num_rows: int
    label_names: list[str]
    counts: Mapping[str, float]
    """Rows kept and left out, by reason."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per window of the set, see `LabelledSet.to_dataframe`."""
        from dna_bigbird.labelled.labelled_set import LabelledSet

        return LabelledSet(self.output, verify=False).to_dataframe()

    def counts_text(self) -> str:
        """Return the counts that are not 0, for the note."""
        return counts_in_words(self.counts)

    def labels_text(self) -> str:
        """Return the number of labels and the counts, for the note."""
        count = len(self.label_names)
        return f"{count} label{'s' if count != 1 else ''}: {self.counts_text()}"


def write_set(
    output: Path,
    data: LabelledData,
    genome: Genome | None,
    *,
    command: str,
    assembly: str,
    settings: Mapping[str, object],
    split: SplitConfig | None = None,
    inputs: Mapping[str, Path],
) -> LabelledSetFile:
    """Write a labelled set with the command that makes it and the checksums of its inputs."""
    from dna_bigbird.core.files import sha256_of
    from dna_bigbird.labelled.labelled_data import write_labelled_set

    named = {"assembly": shlex.quote(assembly)} if assembly or genome else {}
    words = [command, as_options({**named, **settings})]
    words += [split.as_options()] if split else []
    write_labelled_set(
        output,
        data,
        genome,
        assembly=assembly,
        command=" ".join(words),
        inputs={name: sha256_of(path) for name, path in inputs.items()},
    )
    return LabelledSetFile(output, len(data), data.label_names, data.counts)


def held_out_notes(data: LabelledData, split: SplitConfig) -> list[str]:
    """Return a note if validation or test has no row."""
    empty = [name for name in ("validation", "test") if not data.counts[f"rows_{name}"]]
    if not empty:
        return []
    regions = [region for name in empty for region in getattr(split, name)]
    advice = (
        f"none is in {', '.join(regions)}; hold out regions that have peaks or signal"
        if regions
        else "hold out regions or chromosomes: --split.validation chr10 --split.test chr8 chr9"
    )
    return [f"no row for {' and '.join(empty)}, which finetune and evaluate need: {advice}"]


def as_options(settings: Mapping[str, object]) -> str:
    """Return settings as options of a recorded command, without paths.

    Example:
        >>> as_options({"window": 8000, "pieces": False})
        '--window 8000 --pieces false'
    """
    return " ".join(
        f"--{name} {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in settings.items()
    )
