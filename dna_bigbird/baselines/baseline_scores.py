"""What a baseline gives: probabilities of the held-out rows of a labelled set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.dataframes import DataFrame
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.results import Result

if TYPE_CHECKING:
    import numpy as np

    from dna_bigbird.labelled.labelled_set import LabelledSet


@dataclass(frozen=True)
class BaselineScores(Result):
    """A fitted baseline and the file with its probabilities."""

    output: Path
    name: str
    description: str
    """The method, its settings and its fit, in one sentence."""
    num_rows: int
    """Validation and test rows in the file."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per validation and test row: its number in the set, then a column per label."""
        from dna_bigbird.labelled.scores import read_scores

        return read_scores(self.output).to_dataframe()


def held_out_rows(labelled: LabelledSet) -> np.ndarray:
    """Return the validation and test rows of a set.

    Raises:
        InputError: If there are none.
    """
    held_out = (labelled.split != 0).nonzero()[0]
    if not len(held_out):
        raise InputError(
            f"{labelled.path}: no row for validation or test, so nothing to score; build the set with "
            "--split.validation and --split.test"
        )
    return held_out


def save_scores(
    output: Path,
    labelled: LabelledSet,
    name: str,
    description: str,
    rows: np.ndarray,
    values: np.ndarray,
    *,
    fit: str,
    strand: str = "",
) -> BaselineScores:
    """Write the probabilities of some rows of a labelled set.

    Args:
        fit: Figures of the fit, for the note.
        strand: Strands that were scored; empty for a baseline that has none.
    """
    from dna_bigbird.core.files import sha256_of
    from dna_bigbird.labelled.scores import LabelScores, write_scores

    write_scores(
        output,
        LabelScores(
            name=name,
            description=description,
            label_names=labelled.label_names,
            rows=rows,
            values=values,
            set_sha256=sha256_of(labelled.path),
            strand=strand,
        ),
    )
    note(f"{name} baseline: {fit}, {len(rows)} rows scored")
    return BaselineScores(output, name, description, len(rows))


def score_replicate(
    genome: Path | None, data: Path, output: Path, files: Sequence[Path]
) -> BaselineScores:
    """Write another measurement of the tracks of a set as the scores of its held-out rows."""
    import numpy as np

    from dna_bigbird.labelled.labelled_set import open_labelled_set
    from dna_bigbird.labelled.tracks.track_set_run import replicate_values

    labelled = open_labelled_set(data, genome)
    rows = held_out_rows(labelled)
    values = replicate_values(labelled, files, rows)
    is_missing = np.isnan(values)
    missing = int((is_missing & ~np.isnan(labelled.labels_of(rows))).sum())
    description = "Another measurement of the same tracks: what a model could reach, not a prediction from sequence"
    if missing:
        description += f"; {missing:,} bins that it lacks have the training mean of the track"
    return save_scores(
        output,
        labelled,
        "replicate",
        f"{description}.",
        rows,
        np.where(is_missing, labelled.track_training.mean, values),
        fit=f"{missing:,} bins not measured",
    )
