"""Rows and examples of a text set in one HDF5 file, read one by one; the rest stays on the disk.

Layout (R rows, N examples):
    rows             (bytes,) uint8, a record (`record_bytes`) for each `TextFeatures`
    row_offsets      (R+1,) int64 into rows
    row_tokens       (R,) int64, tokens of each row
    row_examples     (R,) int64, the example of each row
    examples         (bytes,) uint8, a record for each example; empty where they are not kept
    example_offsets  (N+1,) int64 into examples
Attributes: `identity`, what the rows are made from and how, and `counts`, both as JSON; checksums of
all rows and of all examples. Checksums of the file: core.hdf5; each record has its own, so
that the large datasets need not be read at the start.
"""

import hashlib
import json
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.hdf5 import StoredArrays, StoreFormat, reading
from dna_bigbird.text.data.rows import TextSet, hashed_bytes, pack, unpack

STORE = StoreFormat(
    "dna-bigbird text rows",
    "store of rows",
    again="delete it; the same command writes it again",
    make="the command that trains writes one",
    versions=(1, 2),  # records of version 1 name classes by their modules
    key="kind",
)
INDEX = ("row_offsets", "row_tokens", "row_examples", "example_offsets")
"""Small: read, and compared with their checksums, whenever a store is opened."""
_CHUNK_BYTES = 1 << 22
"""More than the cache of h5py, which therefore reads the bytes of a record only."""


class Part(NamedTuple):
    """Rows of some examples that follow each other in a set."""

    row_tokens: NDArray[np.int64]
    row_examples: NDArray[np.int64]
    """Numbers in the whole set."""
    row_bytes: NDArray[np.int64]
    """Length of each record of `rows`."""
    example_bytes: NDArray[np.int64]
    """Length of each record of `examples`: of every example; 0 where it is not kept."""
    rows: NDArray[np.uint8]
    examples: NDArray[np.uint8]
    counts: NDArray[np.uint8]
    """JSON."""

    def counted(self) -> dict[str, int]:
        """Return what was left out of these examples, by reason."""
        return json.loads(self.counts.tobytes())


def part_of(text_set: TextSet, first: int, *, keep_examples: bool) -> Part:
    """Return a part of a set, numbered from 0, as the part that begins with example `first`."""
    rows = [pack(replace(row, example=int(row.example) + first)) for row in text_set.rows]
    examples = [pack(each) if keep_examples else b"" for each in text_set.examples]
    return Part(
        row_tokens=np.array([len(row.token_ids) for row in text_set.rows], np.int64),
        row_examples=np.array([row.example + first for row in text_set.rows], np.int64),
        row_bytes=np.array([len(record) for record in rows], np.int64),
        example_bytes=np.array([len(record) for record in examples], np.int64),
        rows=np.frombuffer(b"".join(rows), np.uint8),
        examples=np.frombuffer(b"".join(examples), np.uint8),
        counts=np.frombuffer(json.dumps(text_set.counts).encode(), np.uint8),
    )


@dataclass(frozen=True)
class StoredSet(TextSet):
    """A set whose rows and examples are read from a store when they are asked for."""

    rows_sha256: str
    """Of everything that the model reads and is trained on."""
    examples_sha256: str
    """Of the examples, gold included, where they are kept."""
    labels: list[str]
    """`TextTask.labels` that the rows were made with."""


def write_row_store(
    path: Path, parts: Iterable[Part], counts: dict[str, int], labels: list[str], identity: dict
) -> None:
    """Write the parts of a set to a new store; one of them is in memory at a time."""
    digests = {"rows": hashlib.sha256(), "examples": hashlib.sha256()}
    index: list[Part] = []
    all_counts = [counts]
    with STORE.create(path) as store:
        for name in digests:
            store.growing(name, np.uint8, _CHUNK_BYTES)
        for part in parts:
            for name in digests:
                store.append(name, getattr(part, name))
            for record in _records(part.rows, part.row_bytes):
                for values in hashed_bytes(unpack(record)):
                    digests["rows"].update(values)
            for record in _records(part.examples, part.example_bytes):
                digests["examples"].update(repr(unpack(record)).encode() if record else b"")
            all_counts.append(part.counted())
            empty = part.rows[:0]
            index.append(part._replace(rows=empty, examples=empty, counts=empty))
        columns = _index(index)
        for name in INDEX:
            store.put(name, columns[name], named_last=True)
        described = {"counts": json.dumps(added_up(all_counts)), "labels": json.dumps(labels)}
        described |= {f"{name}_sha256": digest.hexdigest() for name, digest in digests.items()}
        store.describe({"identity": json.dumps(identity, sort_keys=True), **described})


def _index(parts: list[Part]) -> dict[str, NDArray[np.int64]]:
    none = [np.zeros(0, np.int64)]
    columns = {
        name: np.concatenate(none + [getattr(part, name) for part in parts])
        for name in ("row_tokens", "row_examples", "row_bytes", "example_bytes")
    }
    for name in ("row", "example"):
        columns[f"{name}_offsets"] = np.append(0, np.cumsum(columns.pop(f"{name}_bytes")))
    return columns


def _records(values: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Iterator[bytes]:
    start = 0
    for length in lengths.tolist():
        yield values[start : start + length].tobytes()
        start += length


def added_up(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    """Return counts added up, in the order in which their reasons first come."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


class StoredRecords(Sequence):
    """Records of a store by number; after pickling or a fork each process opens the file."""

    lengths: NDArray[np.int64]
    example_numbers: NDArray[np.int64]
    """Of rows only: the tokens and the example of each."""

    def __init__(self, path: Path, name: str, index: dict[str, NDArray[np.int64]]) -> None:
        self.name, self.offsets = name, index[f"{name[:-1]}_offsets"]
        self._path, self._arrays = path, StoredArrays(path, STORE)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int | slice) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        number = range(len(self))[operator.index(number)]
        start, end = self.offsets[number : number + 2].tolist()
        with reading(self._path, STORE.again):
            return unpack(self._arrays.read(self.name, start, end).tobytes())


def read_row_store(path: Path) -> tuple[StoredSet, dict]:
    """Open a store; return its set, and the identity that it was written with."""
    with STORE.open(path, verify=INDEX) as (file, attributes):
        index = {name: file[name][:] for name in INDEX}
        keeps_examples = len(file["examples"]) > 0
    examples = StoredRecords(path, "examples", index)
    rows = StoredRecords(path, "rows", index)
    rows.lengths, rows.example_numbers = index["row_tokens"], index["row_examples"]
    text_set = StoredSet(
        examples=examples if keeps_examples else range(len(examples)),
        rows=rows,
        counts=json.loads(attributes["counts"]),
        rows_sha256=str(attributes["rows_sha256"]),
        examples_sha256=str(attributes["examples_sha256"]),
        labels=json.loads(attributes["labels"]),
    )
    return text_set, json.loads(attributes["identity"])
