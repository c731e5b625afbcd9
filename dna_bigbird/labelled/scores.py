"""Scores of a model or baseline for rows of a labelled set, in one small HDF5 file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.dataframes import DataFrame, with_values
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.hdf5 import StoreFormat, text_array, texts_of
from dna_bigbird.core.results import Result

STORE = StoreFormat(
    "dna-bigbird scores",
    "file of scores",
    again="make it again: dna-bigbird baseline or evaluate",
    make="make one with: dna-bigbird baseline",
)
STRANDS = {"both": "mean of both strands", "forward": "forward strand only"}
"""What the scores are of, by strand option; 'forward' is the strand on which the set has the row."""


@dataclass(frozen=True)
class LabelScores(Result):
    """Scores of n rows for L labels; a higher score means more likely positive."""

    name: str
    """Short name, the key under `baselines` in metrics.json."""
    description: str
    """One sentence for the report."""
    label_names: list[str]
    rows: NDArray[np.int64]
    """(n,), row numbers in the labelled set, rising."""
    values: NDArray[np.float32]
    """(n, L), probabilities or targets; (n, P, L) of P bins for tracks."""
    set_sha256: str
    """Checksum of the labelled set they belong to."""
    strand: str = ""
    """A key of `STRANDS`; empty for k-mer counts, and in older files."""

    def to_dataframe(self) -> DataFrame:
        """Return the number of each row in the set, then a column per label; of tracks a row per bin."""
        values = self.values.reshape(-1, self.values.shape[-1])
        rows = np.repeat(self.rows, len(values) // max(1, len(self.rows)))
        return with_values({"row": rows}, self.label_names, values)

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the scores of some rows, in their order."""
        positions = np.searchsorted(self.rows, rows).clip(max=max(0, len(self.rows) - 1))
        if len(rows) and (not len(self.rows) or (self.rows[positions] != rows).any()):
            raise InputError(
                f"the {self.name} scores lack rows of the labelled set; compute them again"
            )
        return self.values[positions]

    def check_belongs(self, path: Path, data: Path, checksum: str) -> None:
        """Raise InputError if scores were computed on another labelled set."""
        if self.set_sha256 != checksum:
            raise InputError(
                f"{path}: scores of another labelled set than {data}; compute them again: "
                "dna-bigbird baseline"
            )


def write_scores(path: Path, scores: LabelScores) -> None:
    """Write scores; equal scores give equal bytes."""
    with STORE.create(path) as store:
        store.describe(
            {
                "name": scores.name,
                "description": scores.description,
                "set_sha256": scores.set_sha256,
                **({"strand": scores.strand} if scores.strand else {}),
            }
        )
        store.put("label_names", text_array(scores.label_names))
        store.put("rows", scores.rows.astype(np.int64))
        store.put("scores", scores.values.astype(np.float32))


def read_scores(path: Path) -> LabelScores:
    """Read scores and compare them with their checksums."""
    with STORE.open(path) as (file, attributes):
        return LabelScores(
            name=str(attributes["name"]),
            description=str(attributes["description"]),
            label_names=texts_of(file["label_names"]),
            rows=file["rows"][:],
            values=file["scores"][:],
            set_sha256=str(attributes["set_sha256"]),
            strand=str(attributes.get("strand", "")),
        )
