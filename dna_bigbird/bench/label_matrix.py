"""A matrix of 0/1 labels in an HDF5 file of others, whose rows are those of a table next to it."""

from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_readable
from dna_bigbird.core.hdf5 import read_hdf5


def read_label_matrix(
    path: Path, name: str, rows: int, labels: int, table: Path
) -> NDArray[np.uint8]:
    """Return the labels, (rows, labels).

    Args:
        name: Of the data set in the file.
        rows: Rows of `table`, the file with the intervals.

    Raises:
        InputError: If the file is not HDF5, has no such data set, has another number of rows or labels, or
            values other than 0 and 1.
    """
    check_readable(path)
    try:
        with read_hdf5(path) as file:
            if not isinstance(file.get(name), h5py.Dataset):
                raise InputError(
                    f"{path}: no data set {name!r} in it; it has {', '.join(file) or 'nothing'}"
                )
            values = file[name][()]
    except OSError as error:
        raise InputError(
            f"{path}: this is not a whole HDF5 file: {error}. Copy it again"
        ) from error
    if values.ndim != 2 or values.shape[1] != labels:
        raise InputError(
            f"{path}: {name} has the shape {values.shape}; expected {rows} rows with {labels} labels"
        )
    if len(values) != rows:
        raise InputError(
            f"{path}: {name} has {len(values):,} rows, {table.name} has {rows:,}; row i of one belongs to row i of "
            "the other. Are both files of one version, and whole?"
        )
    wrong = np.flatnonzero(~np.isin(values, (0, 1)).all(axis=1))
    if len(wrong):
        raise InputError(
            f"{path}: row {wrong[0] + 1} of {name} has other values than 0 and 1; expected 0/1 labels"
        )
    return values.astype(np.uint8)
