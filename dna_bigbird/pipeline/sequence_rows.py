"""Steps of `sequence-set`: the rows of all its files."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.datasets.sequence_files import SequenceColumns, SequenceFile, SequenceRow
from dna_bigbird.datasets.sequence_sets import UNASSIGNED
from dna_bigbird.datasets.splits import SPLITS
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome


def read_rows(
    files: Sequence[SequenceFile], columns: SequenceColumns, genome: Genome | None
) -> tuple[list[SequenceRow], NDArray[np.int8]]:
    """Return the rows of all files, and the split of each where its file names it.

    Raises:
        InputError: If a file has no row, or only some files have coordinates or labels.
    """
    rows: list[SequenceRow] = []
    roles: list[int] = []
    for file in files:
        read = list(file.rows(columns, genome))
        if not read:
            raise InputError(f"{file.path}: no sequence in it; expected at least one")
        if rows and (read[0].interval is None) != (rows[0].interval is None):
            raise InputError(
                f"{file.path}: has {'no ' if read[0].interval is None else ''}coordinates, unlike "
                f"{files[0].path}; give files of one form"
            )
        if rows and len(read[0].labels) != len(rows[0].labels):
            raise InputError(f"{file.path}: has other label columns than {files[0].path}")
        rows += read
        role = SPLITS.index(file.role) if file.role in SPLITS else UNASSIGNED
        roles += [role] * len(read)
    return rows, np.array(roles, dtype=np.int8)
