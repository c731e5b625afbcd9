"""Predictions as HDF5: coordinates, probabilities as computed, and how they were made.

The layout is described in docs/output.md. Equal inputs give equal bytes.
"""

import json
import shlex
from pathlib import Path

import h5py
import numpy as np

from dna_bigbird.datasets.hdf5 import new_hdf5
from dna_bigbird.files import sha256_of
from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.inference.writers.base import WriteContext

FORMAT = "dna-bigbird predictions"
FORMAT_VERSION = 1
CHUNK_BYTES = 2**20


def write_hdf5(path: Path, spool: Spool, context: WriteContext) -> None:
    """Write the file.

    Raises:
        OutputError: If the disk is full.
    """
    checksums = {role: sha256_of(file) for role, file in context.files.items()} | dict(
        context.checksums
    )
    names = [name.encode() for name in context.label_names]
    width = max((f["sequence"].dtype.itemsize for f in spool.frames()), default=1)
    with new_hdf5(path) as file:
        file.attrs.update(
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "assembly": context.assembly,
                "command": command_of(context.settings),
                "inputs": json.dumps(checksums, sort_keys=True),
            }
        )
        file.create_dataset("labels/name", data=np.array(names))
        number = spool.rows
        columns = {
            "rows/sequence": _empty(file, "rows/sequence", (number,), f"S{width}"),
            "rows/start": _empty(file, "rows/start", (number,), np.int64),
            "rows/end": _empty(file, "rows/end", (number,), np.int64),
            "probabilities": _empty(file, "probabilities", (number, len(names)), np.float32),
        }
        first = 0
        for frame in spool.frames():
            last = first + len(frame["start"])
            for name, column in columns.items():
                column[first:last] = frame[name.removeprefix("rows/")]
            first = last


def command_of(settings: dict) -> str:
    """Return the command that computes these rows, without paths."""
    words = ["predict"]
    for name, value in settings.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        words += [f"--{name}", text]
    return shlex.join(words)


def _empty(file: h5py.File, name: str, shape: tuple[int, ...], dtype) -> h5py.Dataset:
    if not all(shape):
        return file.create_dataset(name, shape, dtype)
    row_bytes = np.dtype(dtype).itemsize * int(np.prod(shape[1:]))
    rows = min(shape[0], max(1, CHUNK_BYTES // row_bytes))
    return file.create_dataset(
        name, shape, dtype, chunks=(rows, *shape[1:]), compression="gzip", shuffle=True
    )
