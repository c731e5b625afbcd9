"""Labelled sets: windows of a genome with 0/1 labels and a split, in one HDF5 file.

The layout is described in docs/labelled-sets.md. Intervals are 0-based and half-open; a row's
interval is the window the model reads. Equal inputs give equal bytes.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from dna_bigbird.datasets.hdf5 import new_hdf5
from dna_bigbird.datasets.splits import SPLITS
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome, Interval

FORMAT = "dna-bigbird labelled set"
FORMAT_VERSION = 1
CHECKED_ROWS = 16
"""Rows whose bases are held against the genome when a set is opened."""

UNIT_BP = 10_000
"""Stretch of the genome whose rows a bootstrap draws together."""


@dataclass
class LabelledData:
    """A labelled set in memory, before it is written; n rows, L labels, m stored sequences."""

    task: str
    """What the labels mean: `promoter` or `chromatin`."""
    window_bp: int
    label_names: list[str]
    label_groups: list[str]
    intervals: list[Interval]
    names: list[str]
    """Name of each row, such as its promoter; need not be unique."""
    labels: NDArray[np.uint8]
    """(n, L), 0 or 1."""
    split: NDArray[np.uint8]
    """(n,), a number of `SPLITS`."""
    negatives: str = ""
    """How artificial negatives were made; empty if there are none."""
    sequences: NDArray[np.uint8] | None = None
    """(m, window_bp), ASCII, as the row's strand reads it, of the rows that are not in the genome."""
    stored: NDArray[np.int64] | None = None
    """(n,), the row's place in `sequences`, or -1 if its bases come from the genome."""
    pair: NDArray[np.int64] | None = None
    """(n,), the same number for a positive and the negatives that belong to it; by default rows of
    one window belong together."""
    bin_starts: NDArray[np.int64] | None = None
    """(n,), first base of the labelled bin inside the window."""
    bin_bp: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """How many rows were read, kept, and left out for which reason."""


def write_labelled_set(
    path: Path,
    data: LabelledData,
    genome: Genome,
    *,
    assembly: str,
    command: str,
    inputs: dict[str, str],
) -> None:
    """Write a labelled set.

    Args:
        assembly: Name of the assembly of the coordinates.
        command: The call that makes the set, without paths.
        inputs: sha256 of every input, by what it is.

    Raises:
        InputError: If the disk is full.
    """
    used = {x.chrom for x in data.intervals}
    rank = {chrom: i for i, chrom in enumerate(c for c in genome.lengths if c in used)}
    with new_hdf5(path) as file:
        file.attrs.update(
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "task": data.task,
                "assembly": assembly,
                "window_bp": data.window_bp,
                "bin_bp": data.bin_bp,
                "negatives": data.negatives,
                "command": command,
                "inputs": json.dumps(inputs, sort_keys=True),
                "counts": json.dumps(data.counts),
                "bases_sha256": _bases_digest(
                    genome, [data.intervals[i] for i in _checked_rows(len(data.intervals))]
                ),
            }
        )
        _put(file, "chromosomes/name", _text(list(rank)))
        _put(file, "chromosomes/length_bp", np.array([genome.lengths[c] for c in rank], np.int64))
        _put(file, "labels/name", _text(data.label_names))
        _put(file, "labels/group", _text(data.label_groups))
        _put(file, "labels/values", data.labels.astype(np.uint8))
        _put(file, "rows/chrom", np.array([rank[x.chrom] for x in data.intervals], np.uint32))
        _put(file, "rows/start", np.array([x.start for x in data.intervals], np.int64))
        _put(file, "rows/strand", _text([x.strand for x in data.intervals]))
        _put(file, "rows/name", _text(data.names))
        _put(file, "rows/split", data.split.astype(np.uint8))
        if data.pair is not None:
            _put(file, "rows/pair", data.pair.astype(np.int64))
        if data.bin_starts is not None:
            _put(file, "rows/bin_start", data.bin_starts.astype(np.int64))
        if data.sequences is not None and data.stored is not None:
            _put(file, "rows/stored", data.stored.astype(np.int64))
            _put(file, "sequences", data.sequences.astype(np.uint8), rows_per_chunk=1)


def _put(file: h5py.File, name: str, values: NDArray, rows_per_chunk: int = 4096) -> None:
    chunks = (min(rows_per_chunk, len(values)), *values.shape[1:]) if values.size else None
    packing = {"chunks": chunks, "compression": "gzip"} if chunks else {}
    file.create_dataset(name, data=values, **packing)


def _text(values: list[str]) -> NDArray[np.bytes_]:
    """UTF-8 of fixed length: HDF5's strings of variable length are slow and not compressed."""
    encoded = [value.encode() for value in values]
    return np.array(encoded, dtype=f"S{max(map(len, encoded), default=0) or 1}")


def _bases_digest(genome: Genome, intervals: list[Interval]) -> str:
    """sha256 of the bases of some intervals on the forward strand."""
    digest = hashlib.sha256()
    for x in intervals:
        digest.update(genome.fetch(Interval(x.chrom, x.start, x.end)).encode())
    return digest.hexdigest()


class LabelledSet:
    """Reads a labelled set; may be pickled and used after a fork.

    Args:
        genome: Where the bases of the rows come from; without it only labels and coordinates
            (and stored sequences) can be read.

    Raises:
        InputError: If the file is no labelled set, or the genome is not the one it was made on.
    """

    def __init__(self, path: Path | str, genome: Genome | None = None) -> None:
        self.path = Path(path)
        self.genome = genome
        self._reader: tuple[int, h5py.File] | None = None
        self._read_all()
        if genome is not None:
            self._check_genome(genome)

    def _read_all(self) -> None:
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such labelled set")
        try:
            file = h5py.File(self.path, "r")
        except OSError as error:
            raise InputError(
                f"{self.path}: not an HDF5 file, or one cut short; build it again"
            ) from error
        with file:
            attributes = dict(file.attrs)
            if attributes.get("format") != FORMAT:
                raise InputError(
                    f"{self.path}: this HDF5 file is no labelled set; "
                    "make one with: dna-bigbird promoter-set or chromatin-set"
                )
            if attributes["format_version"] != FORMAT_VERSION:
                raise InputError(
                    f"{self.path}: format version {attributes['format_version']}, this program "
                    f"reads {FORMAT_VERSION}; build the set again"
                )
            self.task = str(attributes["task"])
            self.assembly = str(attributes["assembly"])
            self.negatives = str(attributes["negatives"])
            self.window_bp = int(attributes["window_bp"])
            self.bin_bp = int(attributes["bin_bp"])
            self.command = str(attributes["command"])
            self.counts: dict[str, int] = json.loads(attributes["counts"])
            self.inputs: dict[str, str] = json.loads(attributes["inputs"])
            self._bases_sha256 = str(attributes["bases_sha256"])
            self.label_names = _strings(file["labels/name"])
            self.label_groups = _strings(file["labels/group"])
            self._chromosomes = _strings(file["chromosomes/name"])
            self._lengths = file["chromosomes/length_bp"][:]
            self._chrom = file["rows/chrom"][:]
            self._start = file["rows/start"][:]
            self._strand = file["rows/strand"][:]
            self._names = file["rows/name"][:]
            self.split: NDArray[np.uint8] = file["rows/split"][:]
            self.bin_starts = file["rows/bin_start"][:] if "rows/bin_start" in file else None
            self._stored = file["rows/stored"][:] if "rows/stored" in file else None
            self._pair = file["rows/pair"][:] if "rows/pair" in file else None

    @cached_property
    def labels(self) -> NDArray[np.uint8]:
        """All labels, (n, L), read at first use."""
        with h5py.File(self.path, "r") as file:
            return file["labels/values"][:]

    @property
    def is_semi_synthetic(self) -> bool:
        """Whether the set comes from the demo, whose signals are planted."""
        return self.assembly.startswith("demo")

    @property
    def pairs(self) -> NDArray[np.int64]:
        """(n,), the same number for a positive and its negatives; else for rows of one window."""
        if self._pair is not None:
            return self._pair
        place = np.stack([self._chrom, self._start, self._strand == b"-"], axis=1)
        return np.unique(place.astype(np.int64), axis=0, return_inverse=True)[1].reshape(-1)

    @property
    def units(self) -> NDArray[np.int64]:
        """(n,), rows with one number are drawn together in a bootstrap.

        Windows that overlap, and a positive and its negative, are no independent evidence: rows
        belong together if the centres of their windows lie in one stretch of `UNIT_BP` (or of one
        window, if that is longer) of the genome.
        """
        stretch = (self._start + self.window_bp // 2) // max(UNIT_BP, self.window_bp)
        place = np.stack([self._chrom.astype(np.int64), stretch], axis=1)
        return np.unique(place, axis=0, return_inverse=True)[1].reshape(-1)

    def __len__(self) -> int:
        return len(self.split)

    def rows(self, split: str | int) -> NDArray[np.int64]:
        """Return the numbers of the rows of a split, rising."""
        number = SPLITS.index(split) if isinstance(split, str) else split
        return np.flatnonzero(self.split == number)

    def interval(self, row: int) -> Interval:
        """Return the window of a row, with its strand."""
        start = int(self._start[row])
        chrom = self._chromosomes[self._chrom[row]]
        return Interval(chrom, start, start + self.window_bp, self._strand[row].decode())

    def name(self, row: int) -> str:
        """Return the name of a row."""
        return self._names[row].decode()

    def sequence(self, row: int) -> str:
        """Return the bases of a row as its strand reads them.

        Raises:
            ValueError: If they are in the genome and none was given.
        """
        stored = -1 if self._stored is None else int(self._stored[row])
        if stored >= 0:
            return self._file()["sequences"][stored].tobytes().decode("ascii")
        if self.genome is None:
            raise ValueError(f"{self.path}: the bases of row {row} need the genome")
        return self.genome.fetch(self.interval(row))

    def _file(self) -> h5py.File:
        if self._reader is None or self._reader[0] != os.getpid():
            self._reader = (os.getpid(), h5py.File(self.path, "r"))
        return self._reader[1]

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_reader": None}

    def _check_genome(self, genome: Genome) -> None:
        for chrom, length in zip(self._chromosomes, self._lengths.tolist(), strict=True):
            name = genome.resolve(chrom)
            if genome.lengths[name] != length:
                raise InputError(
                    f"{self.path}: made on {self.assembly}, where {chrom} has {length:,} bp, but it "
                    f"has {genome.lengths[name]:,} bp in {genome.path.name}. Use the same FASTA"
                )
        checked = [self.interval(i) for i in _checked_rows(len(self))]
        if _bases_digest(genome, checked) != self._bases_sha256:
            raise InputError(
                f"{self.path}: made on {self.assembly}, but {genome.path.name} has other bases in "
                "its windows. Use the FASTA that it was made from"
            )


def _checked_rows(count: int) -> list[int]:
    """Up to `CHECKED_ROWS` row numbers, evenly spaced."""
    return np.linspace(0, count - 1, CHECKED_ROWS).astype(int).tolist() if count else []


def _strings(dataset: h5py.Dataset) -> list[str]:
    return [value.decode() for value in dataset[:].tolist()]
