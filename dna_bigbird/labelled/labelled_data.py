"""A labelled set in memory, and how it is written; docs/reference/file-formats.md describes the file."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.core.hdf5 import StoreFormat, open_hdf5, read_attributes, text_array
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.windows import Windows
from dna_bigbird.models.label_types import RECORDED, label_type_of

# 0/1 labels, eight to a byte: 2.6 million rows of 919 labels take 300 MB instead of 2.4 GB.

_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, eq=False)
class PackedLabels:
    """A table (n, L) of 0 and 1, and of NaN where a label was not measured.

    Indexing its rows gives them unpacked: as uint8, or as float32 if a label was not measured somewhere.
    """

    bits: NDArray[np.uint8]
    """(n, ceil(L / 8)); label 0 is the highest bit of byte 0, unused bits are 0."""
    count: int
    """L."""
    missing: NDArray[np.uint8] | None = None
    """(n, ceil(L / 8)), 1 where the label was not measured; None if it was everywhere."""

    def __post_init__(self) -> None:
        if self.missing is not None and not self.missing.any():
            object.__setattr__(self, "missing", None)

    @classmethod
    def of(cls, labels: "ArrayLike | PackedLabels") -> "PackedLabels":
        """Pack a table (n, L).

        Example:
            >>> PackedLabels.of([[1, 0, 1]])[0].tolist()
            [1, 0, 1]
        """
        if isinstance(labels, PackedLabels):
            return labels
        values = np.asarray(labels)
        if values.size and not np.isin(values, (0, 1)).all():
            raise ValueError("labels must be 0 or 1")
        return cls(np.packbits(values.astype(np.uint8), axis=1), values.shape[1])

    @classmethod
    def joined(cls, parts: "list[PackedLabels]", count: int) -> "PackedLabels":
        """Concatenate tables of `count` labels; empties the list, so no table is in memory twice."""
        bits = np.zeros((sum(map(len, parts)), -(-count // 8)), dtype=np.uint8)
        missing = np.zeros_like(bits) if any(x.missing is not None for x in parts) else None
        end = len(bits)
        while parts:
            part = parts.pop()
            here = slice(end - len(part), end)
            bits[here] = part.bits
            if missing is not None and part.missing is not None:
                missing[here] = part.missing
            end = here.start
        return cls(bits, count, missing)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, L)."""
        return len(self.bits), self.count

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, rows) -> NDArray[np.uint8] | NDArray[np.float32]:
        """Unpack one row, (L,), or the rows of a slice, of numbers or of a mask, (rows, L)."""
        labels = self._unpacked(self.bits[rows])
        if self.missing is None:
            return labels
        return np.where(self._unpacked(self.missing[rows]), np.float32(np.nan), labels)

    def _unpacked(self, bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if self.count == 0:  # numpy cannot unpack nothing
            return np.zeros((*bits.shape[:-1], 0), dtype=np.uint8)
        return np.unpackbits(bits, axis=-1, count=self.count)

    def keep(self, rows: NDArray) -> "PackedLabels":
        """Return some of the rows (numbers or a mask), still packed."""
        missing = None if self.missing is None else self.missing[rows]
        return PackedLabels(self.bits[rows], self.count, missing)

    def positives(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Count the positives of every label, (L,), over some rows (numbers) or all."""
        bits = self.bits if self.missing is None else self.bits & ~self.missing
        return self._count(bits, rows)

    def measured(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Count the rows in which every label was measured, (L,), of some rows (numbers) or all."""
        total = np.full(self.count, len(self) if rows is None else len(rows))
        return total if self.missing is None else total - self._count(self.missing, rows)

    def _count(self, bits: NDArray, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
        total = np.zeros(self.count, dtype=np.int64)
        for start in range(0, len(self) if rows is None else len(rows), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            unpacked = self._unpacked(bits[part if rows is None else rows[part]])
            total += unpacked.sum(axis=0, dtype=np.int64)
        return total


@dataclass(frozen=True, eq=False)
class StoredSequences:
    """m sequences; an index gives one of them, an array of indices some of them."""

    letters: NDArray[np.uint8]
    """ASCII, one sequence after the other."""
    offsets: NDArray[np.int64]
    """(m + 1,), sequence i is `letters[offsets[i]:offsets[i + 1]]`."""

    @classmethod
    def of(cls, sequences: Sequence[str]) -> "StoredSequences":
        """Join sequences.

        Example:
            >>> stored = StoredSequences.of(["ACGT", "GG"])
            >>> stored[1].tobytes(), len(stored[np.array([0])])
            (b'GG', 1)
        """
        letters = np.frombuffer("".join(sequences).encode("ascii"), dtype=np.uint8)
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in sequences])])
        return cls(letters, offsets.astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(m,), bases of each sequence."""
        return np.diff(self.offsets)

    def __getitem__(self, index):
        """Return the letters of one sequence, or some sequences by an array of numbers."""
        if not isinstance(index, np.ndarray):
            return self.letters[self.offsets[index] : self.offsets[index + 1]]
        parts = [self.letters[self.offsets[i] : self.offsets[i + 1]] for i in index.tolist()]
        lengths = self.lengths[index]
        letters = np.concatenate([np.empty(0, dtype=np.uint8), *parts])
        return StoredSequences(letters, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def padded(parts: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return sequences as rows of one table, filled up with N on the right.

    Example:
        >>> padded([np.frombuffer(text, np.uint8) for text in (b"ACGT", b"GG")])[1].tobytes()
        b'GGNN'
    """
    table = np.full((len(parts), max(map(len, parts), default=0)), ord("N"), dtype=np.uint8)
    for row, letters in zip(table, parts, strict=True):
        row[: len(letters)] = letters
    return table


def standardisation(targets_NL: np.ndarray) -> tuple[list[float], list[float]]:
    """Return mean and standard deviation of every target; a constant target has 1.

    Example:
        >>> standardisation(np.array([[1.0], [3.0]]))
        ([2.0], [1.0])
    """
    stds = targets_NL.std(axis=0)
    return targets_NL.mean(axis=0).tolist(), np.where(stds > 0, stds, 1.0).tolist()


STORE = StoreFormat(
    "dna-bigbird labelled set",
    "labelled set",
    again="build the set again",
    make="make one with: dna-bigbird sequence-set, promoter-set or chromatin-set",
    # 3: sequences of their own, classes or targets, which version 2 cannot have; 4: labels that were
    # not measured in some rows, which a reader of version 3 would take for negatives
    versions=(2, 3, 4),
)
CHECKED_ROWS = 16
"""Rows whose bases are compared with the genome when a set is opened."""


@dataclass
class LabelledData:
    """A labelled set in memory, before it is written; n rows, L labels, m stored sequences."""

    task: str
    """What the labels mean: `promoter`, `chromatin` or `sequence`."""
    window_bp: int
    """Length of the windows, or of the longest."""
    label_names: list[str]
    label_groups: list[str]
    intervals: Sequence[Interval]
    """n windows, all `window_bp` long unless they are `Windows`; kept as `Windows`."""
    names: list[str]
    """Name of each row, such as its promoter; need not be unique; empty if rows have none."""
    labels: PackedLabels | NDArray[np.uint8]
    """(n, L), 0, 1 or not measured; kept packed. One 1 per row for classes; (n, 0) for targets."""
    split: NDArray[np.uint8]
    """(n,), a number of `SPLITS`."""
    negatives: str = ""
    """How artificial negatives were made; empty if there are none."""
    sequences: NDArray[np.uint8] | StoredSequences | None = None
    """(m, window_bp) or m of any length, ASCII, as the row's strand reads it, of the rows that are not
    in the genome."""
    stored: NDArray[np.int64] | None = None
    """(n,), the row's place in `sequences`, or -1 if its bases come from the genome."""
    pair: NDArray[np.int64] | None = None
    """(n,), the same number for a positive and the negatives that belong to it; by default rows of
    one window belong together."""
    bin_starts: NDArray[np.int64] | None = None
    """(n,), first base of the labelled bin inside the window."""
    bin_bp: int = 0
    label_cells: list[str] = field(default_factory=list)
    """Cell type of each label; empty if there is none to name."""
    label_targets: list[str] = field(default_factory=list)
    """What each label marks, such as the transcription factor; may be empty."""
    counts: dict[str, float] = field(default_factory=dict)
    """How many rows were read, kept, and left out for which reason."""
    label_type: str = ""
    """One of `LABEL_TYPES`; by default binary or multi-label, by the number of labels."""
    targets: NDArray[np.float64] | None = None
    """(n, L), for regression."""
    has_coordinates: bool = True
    """False if every row is a chromosome of its own."""

    def __post_init__(self) -> None:
        self.intervals = Windows.of(self.intervals, self.window_bp)
        self.labels = PackedLabels.of(self.labels)
        self.label_type = label_type_of(self.label_type, self.label_names)

    @property
    def format_version(self) -> int:
        """2 if every reader of sets understands it, 4 if a label was not measured somewhere, else 3."""
        if self.labels.missing is not None:
            return 4
        is_new = isinstance(self.sequences, StoredSequences) or not self.has_coordinates
        is_new |= self.label_type in RECORDED or self.intervals.length is not None
        return 3 if is_new else 2

    def __len__(self) -> int:
        return len(self.split)

    def keep(self, rows: NDArray) -> "LabelledData":
        """Return some of the rows (numbers or a mask), with the stored sequences they need."""
        # `counts` is a copy; a caller that leaves rows out adds how many and why.
        numbers = np.arange(len(self))[rows]
        stored, sequences = self.stored, self.sequences
        if stored is not None and sequences is not None:
            stored = stored[numbers]
            needed, new_stored = np.unique(stored, return_inverse=True)
            new_stored = new_stored.reshape(-1) - int((needed < 0).any())
            stored, sequences = np.where(stored < 0, -1, new_stored), sequences[needed[needed >= 0]]
        return dataclasses.replace(
            self,
            intervals=self.intervals[numbers],
            names=[self.names[i] for i in numbers.tolist()] if self.names else [],
            labels=self.labels.keep(numbers),
            split=self.split[numbers],
            sequences=sequences,
            stored=stored,
            pair=None if self.pair is None else self.pair[numbers],
            bin_starts=None if self.bin_starts is None else self.bin_starts[numbers],
            counts=dict(self.counts),
            targets=None if self.targets is None else self.targets[numbers],
        )


def write_labelled_set(
    path: Path,
    data: LabelledData,
    genome: Genome | None,
    *,
    assembly: str,
    command: str,
    inputs: dict[str, str],
) -> None:
    """Write a labelled set; without a genome all sequences are stored. `inputs`: sha256 by role."""
    rows = data.intervals
    chroms, rank = _chromosomes(data, genome)
    new = {"label_type": data.label_type, "has_coordinates": int(data.has_coordinates)}
    bases = ""  # of some rows' bases in the genome; if all rows are stored there is none to compare
    if genome is not None and not isinstance(data.sequences, StoredSequences):
        bases = bases_digest(genome, [data.intervals[i] for i in checked_rows(len(data))])
    with STORE.create(path) as store:

        def put(name: str, values: NDArray, rows_per_chunk: int = 4096) -> None:
            chunks = (min(rows_per_chunk, len(values)), *values.shape[1:])
            store.put(
                name, values, **({"chunks": chunks, "compression": "gzip"} if values.size else {})
            )

        store.describe(
            {
                "task": data.task,
                "assembly": assembly,
                "window_bp": data.window_bp,
                "bin_bp": data.bin_bp,
                "negatives": data.negatives,
                "command": command,
                "inputs": json.dumps(inputs, sort_keys=True),
                "counts": json.dumps(data.counts),
                "bases_sha256": bases,
                **(new if data.format_version > 2 else {}),
            },
            data.format_version,
        )
        put("chromosomes/name", text_array(list(chroms)))
        put("chromosomes/length_bp", np.array(list(chroms.values()), np.int64))
        put("labels/name", text_array(data.label_names))
        put("labels/group", text_array(data.label_groups))
        put("labels/cell", text_array(data.label_cells or [""] * len(data.label_names)))
        put("labels/target", text_array(data.label_targets or [""] * len(data.label_names)))
        put("labels/bits", data.labels.bits)
        if data.labels.missing is not None:
            put("labels/missing", data.labels.missing)
        put("rows/chrom", rank[rows.chrom])
        put("rows/start", rows.start.astype(np.int64))
        put("rows/strand", rows.strand)
        put("rows/name", text_array(data.names) if data.names else np.zeros(len(rows), "S1"))
        put("rows/split", data.split.astype(np.uint8))
        if data.pair is not None:
            put("rows/pair", data.pair.astype(np.int64))
        if data.bin_starts is not None:
            put("rows/bin_start", data.bin_starts.astype(np.int64))
        if data.sequences is not None and data.stored is not None:
            put("rows/stored", data.stored.astype(np.int64))
            if isinstance(data.sequences, StoredSequences):
                put("sequences", data.sequences.letters, 1 << 16)
                put("sequence_offsets", data.sequences.offsets)
            else:
                put("sequences", data.sequences.astype(np.uint8), 1)
        if rows.length is not None:
            put("rows/length", rows.length.astype(np.int64))
        if data.targets is not None:
            put("labels/values", data.targets.astype(np.float64))


def _chromosomes(
    data: LabelledData, genome: Genome | None
) -> tuple[dict[str, int], NDArray[np.uint32]]:
    """Return the lengths of the chromosomes with a row, and the new number of each old one."""
    rows = data.intervals
    used = {rows.chromosomes[i]: i for i in np.unique(rows.chrom).tolist()}
    if genome is None:  # each row is a chromosome
        ends = dict(zip(rows.chrom.tolist(), rows.end.tolist(), strict=True))
        lengths = {name: ends[number] for name, number in used.items()}
    else:
        lengths = {chrom: length for chrom, length in genome.lengths.items() if chrom in used}
    rank = {chrom: number for number, chrom in enumerate(lengths)}
    return lengths, np.array([rank.get(x, 0) for x in rows.chromosomes], np.uint32)


def is_labelled_set(path: Path) -> bool:
    """Return True if a file says that it is a labelled set, of whatever version."""
    if not h5py.is_hdf5(path):
        return False
    with open_hdf5(path, "make it again") as file:
        return read_attributes(file).get("format") == STORE.name


def bases_digest(genome: Genome, intervals: list[Interval]) -> str:
    """sha256 of the bases of some intervals on the forward strand."""
    digest = hashlib.sha256()
    for x in intervals:
        digest.update(genome.fetch(Interval(x.chrom, x.start, x.end)).encode())
    return digest.hexdigest()


def checked_rows(count: int) -> list[int]:
    """Up to `CHECKED_ROWS` row numbers, evenly spaced."""
    return np.linspace(0, count - 1, CHECKED_ROWS).astype(int).tolist() if count else []
