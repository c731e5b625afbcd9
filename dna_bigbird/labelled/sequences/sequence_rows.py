"""Steps of `sequence-set`: the rows of all its files."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.sequences.files import SequenceColumns, SequenceFile, SequenceRow
from dna_bigbird.labelled.sequences.labels import plain_labels
from dna_bigbird.labelled.sequences.sets import UNASSIGNED
from dna_bigbird.labelled.splits import SPLITS


def read_rows(
    files: Sequence[SequenceFile],
    columns: SequenceColumns,
    genome: Genome | None,
    missing: str,
) -> tuple[list[SequenceRow], NDArray[np.int8], int]:
    """Return the rows of all files that have a label, the split of each where its file names it, and how many have none.

    Args:
        missing: As `plain_labels`.

    Raises:
        InputError: If a file has no row, or only some files have coordinates or labels, or as
            `plain_labels`.
    """
    rows: list[SequenceRow] = []
    roles: list[int] = []
    is_class: list[bool] = []
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
        is_class += [bool(file.class_name)] * len(read)
    of_class, in_cells = np.flatnonzero(is_class), np.flatnonzero(~np.array(is_class))
    plain, kept = plain_labels([rows[i] for i in in_cells], missing)
    order = np.concatenate([of_class, in_cells[kept]])
    if not len(order):
        raise InputError(f"{files[0].path}: no row has a label")
    some = [*(rows[i] for i in of_class), *plain]
    positions = np.argsort(order)
    splits = np.array(roles, dtype=np.int8)[order[positions]]
    return [some[i] for i in positions], splits, len(rows) - len(order)
