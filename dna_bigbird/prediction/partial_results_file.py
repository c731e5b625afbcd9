"""The folder of finished rows: parts of `core.parts`, one for each chunk of rows.

    .scores.tsv.rows.partial/
        identity.json    what must be the same for a run to be continued
        000000017.npz    columns of some rows
        .lock            held by the process that writes `scores.tsv`

The rows are in the order of the parts, so a part is used only if all before it are whole: a kill at any
byte loses at most the part that was being written.
"""

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.parts import (
    array_part,
    place_in_part,
    read_array_part,
    read_json_part,
    write_json_part,
)
from dna_bigbird.core.writing import readable_write_error

IDENTITY = "identity"
MAPPED = 64
"""Parts of a column that are open at the same time."""


class PartialResults:
    """Rows in a folder, which this process has locked (`open_partial_results`)."""

    # resumed: there were rows of an interrupted run, or its settings differ.

    def __init__(self, output: Path, folder: Path) -> None:
        self.output, self.folder = output, folder
        self.rows = 0
        self.resumed = False
        self._identity = folder / f"{IDENTITY}.json"
        self._parts: list[Path] = []
        self._key = ""

    def append(self, columns: Mapping[str, NDArray]) -> None:
        """Add rows: arrays of any type except objects, the first with an entry for each row."""
        arrays = {name: np.ascontiguousarray(array) for name, array in columns.items()}
        path = self._following()
        try:
            path.write_bytes(array_part(self._key_of(path), arrays))
        except OSError as error:
            with contextlib.suppress(OSError):
                path.unlink()
            raise readable_write_error(self.output, error) from error
        self._add(path, arrays)

    def frames(self) -> Iterator[dict[str, NDArray]]:
        """Yield the columns of every `append`, in order."""
        for path in self._parts:
            arrays = read_array_part(path, self._key_of(path))
            if arrays is None:
                raise InputError(f"{path}: damaged; start again without --resume")
            yield arrays

    def column(self, name: str) -> "StoredColumn":
        """Return a column whose rows can be read in any order; nothing may be appended after."""
        return StoredColumn(self._parts, name)

    def pieces(self, name: str) -> Iterator[NDArray]:
        """Yield one column of every `append`, in order, reading nothing else."""
        for path in self._parts:
            with np.load(path, allow_pickle=False) as stored:
                yield stored[name]

    def start(self, identity: dict) -> None:
        """Empty the folder and start a run of this identity."""
        for path in self.folder.glob("*.npz"):
            path.unlink()
        self._parts, self.rows = [], 0
        write_json_part(self._identity, {}, {IDENTITY: identity})
        self._key = _fingerprint(identity)

    def recover(self) -> dict | None:
        """Find the whole parts, delete the rest, and return the identity of their run."""
        content = read_json_part(self._identity, {})
        identity = content[IDENTITY] if content else None
        self._key = _fingerprint(identity)
        left = sorted(self.folder.glob("*.npz"))
        while left and identity is not None and left[0] == self._following():
            arrays = read_array_part(left[0], self._key_of(left[0]))
            if arrays is None:
                break
            self._add(left.pop(0), arrays)
        if left:
            note(
                f"{self.output}: the last {len(left)} parts of its finished rows are damaged, or follow one "
                "that is; their rows are computed again"
            )
        for path in left:
            path.unlink()
        return identity

    def _following(self) -> Path:
        return self.folder / f"{len(self._parts):09d}.npz"

    def _key_of(self, path: Path) -> str:
        return f"{path.stem} {self._key}"

    def _add(self, path: Path, arrays: Mapping[str, NDArray]) -> None:
        self._parts.append(path)
        self.rows += len(next(iter(arrays.values())))


def _fingerprint(identity: object) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


class StoredColumn:
    """One column of some parts, read from the disk row by row."""

    def __init__(self, parts: list[Path], name: str) -> None:
        self._places = [(path, *place_in_part(path, name)) for path in parts]
        _, self.dtype, first_shape, _ = self._places[0]
        counts = [shape[0] for _, _, shape, _ in self._places]
        self._first_rows = np.cumsum([0, *counts])
        self.shape = (int(self._first_rows[-1]), *first_shape[1:])
        self._stored = functools.lru_cache(MAPPED)(self._map)

    def read(self, rows: NDArray[np.int64]) -> NDArray:
        """Return rows by number, in the order asked."""
        result = np.empty((len(rows), *self.shape[1:]), self.dtype)
        parts = np.searchsorted(self._first_rows, rows, side="right") - 1
        for part in np.unique(parts):
            here = parts == part
            result[here] = self._stored(part)[rows[here] - self._first_rows[part]]
        return result

    def _map(self, part: int) -> NDArray:
        path, dtype, shape, offset = self._places[part]
        return np.memmap(path, dtype, "r", offset, shape)
