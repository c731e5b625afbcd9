"""Predictions as HDF5, vectors as HDF5 or NPZ, written from finished rows piece by piece.

The layouts are described in docs/reference/output-files.md and docs/how-to/embed.md. Equal inputs give equal bytes.
"""

# n windows, T tokens, E hidden size

import functools
import json
import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import checked
from dna_bigbird.core.hdf5 import StoreFormat
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.results import VectorFormat
from dna_bigbird.prediction.writers.target import ROW_NAME, WriteContext

PREDICTIONS = StoreFormat("dna-bigbird predictions", has_checksums=False)
VECTORS = StoreFormat("dna-bigbird vectors", has_checksums=False)
CHUNK_BYTES = 2**20
COUNTS = "num_tokens"
"""Column of the frames: tokens of each window."""
OF_TOKENS = ("vectors", "token_start", "token_end")
"""Columns with one row per token, if the frames have such counts."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every member of an NPZ: equal contents give equal bytes."""


def write_predictions(path: Path, stored: PartialResults, context: WriteContext) -> None:
    """Write predictions as HDF5."""
    names = [name.encode() for name in context.label_names]
    texts = ["sequence", *({ROW_NAME} & next(stored.frames(), {}).keys())]
    with PREDICTIONS.create(path) as store:
        file = store.file
        store.describe(
            {
                "assembly": context.assembly,
                "command": command_of(context.settings),
                "inputs": json.dumps(context.inputs(), sort_keys=True),
            }
        )
        file.create_dataset("labels/name", data=np.array(names))
        number = stored.rows
        columns = {
            f"rows/{name}": _empty(file, f"rows/{name}", (number,), _text_type(stored, name))
            for name in texts
        } | {
            "rows/start": _empty(file, "rows/start", (number,), np.int64),
            "rows/end": _empty(file, "rows/end", (number,), np.int64),
            "probabilities": _empty(file, "probabilities", (number, len(names)), np.float32),
        }
        first = 0
        for frame in stored.frames():
            last = first + len(frame["start"])
            for name, column in columns.items():
                column[first:last] = frame[name.removeprefix("rows/")]
            first = last


def _text_type(stored: PartialResults, name: str) -> str:
    """Return a type as wide as the longest text of a column."""
    return f"S{max((frame[name].dtype.itemsize for frame in stored.frames()), default=1)}"


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


@checked()
def write_vectors(
    path: Path, format: VectorFormat, stored: PartialResults, attributes: Mapping[str, object]
) -> None:
    """Write all vectors, with attributes of the HDF5 file, or the text `about` in the NPZ."""
    attributes = {**VECTORS.identity(), **attributes}
    (_write_hdf5 if format == "hdf5" else _write_npz)(path, columns_of(stored), attributes)


@dataclass(frozen=True)
class VectorColumn:
    """One array of the file, whose rows come in pieces."""

    shape: tuple[int, ...]
    dtype: np.dtype
    pieces: Callable[[], Iterator[NDArray]]


def columns_of(stored: PartialResults) -> dict[str, VectorColumn]:
    """Return the arrays of the file: those of the frames, with counts of tokens as offsets."""
    first = next(stored.frames(), {})
    rows = dict.fromkeys(first, stored.rows)
    if COUNTS in first:
        rows |= dict.fromkeys(OF_TOKENS, sum(int(piece.sum()) for piece in stored.pieces(COUNTS)))
    columns = {}
    for name, array in first.items():
        pieces, dtype = functools.partial(stored.pieces, name), array.dtype
        if dtype.char == "S":  # as wide as the longest name
            dtype = np.dtype(f"S{max(piece.dtype.itemsize for piece in pieces())}")
        if name == COUNTS:
            columns["offset"] = VectorColumn(
                (stored.rows + 1,), dtype, functools.partial(_offsets, pieces)
            )
        else:
            columns[name] = VectorColumn((rows[name], *array.shape[1:]), dtype, pieces)
    return columns


def _offsets(pieces: Callable[[], Iterator[NDArray]]) -> Iterator[NDArray]:
    """Yield 0, then where the tokens of each window end."""
    end = np.zeros(1, np.int64)
    yield end
    for counts in pieces():
        ends = end + np.cumsum(counts)
        yield ends
        end = ends[-1:]


def _write_hdf5(path: Path, columns: Mapping[str, VectorColumn], attributes: Mapping) -> None:
    with VECTORS.create(path) as store:
        file = store.file
        for name, value in attributes.items():
            file.attrs[name] = json.dumps(value) if isinstance(value, dict) else value
        for name, column in columns.items():
            dataset = file.create_dataset(name, column.shape, column.dtype)
            first = 0
            for piece in column.pieces():
                dataset[first : first + len(piece)] = piece
                first += len(piece)


def _write_npz(path: Path, columns: Mapping[str, VectorColumn], attributes: Mapping) -> None:
    with atomic_path(path) as partial, zipfile.ZipFile(partial, "w") as archive:
        for name, column in columns.items():
            is_text = column.dtype.char == "S"
            dtype = np.dtype(f"U{column.dtype.itemsize}") if is_text else column.dtype
            with archive.open(_member(name), "w", force_zip64=True) as stream:
                header = {
                    "descr": np.lib.format.dtype_to_descr(dtype),
                    "fortran_order": False,
                    "shape": column.shape,
                }
                np.lib.format.write_array_header_2_0(stream, header)
                for piece in column.pieces():
                    values = np.char.decode(piece, "utf-8") if is_text else piece
                    stream.write(values.astype(dtype).tobytes())
        with archive.open(_member("about"), "w") as stream:
            np.lib.format.write_array(stream, np.array(json.dumps(attributes)), allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(f"{name}.npy", EPOCH)
