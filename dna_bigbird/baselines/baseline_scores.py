"""What a baseline gives: probabilities of the held-out rows of a labelled set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.dataframes import DataFrame
from dna_bigbird.core.errors import note
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
