"""Labelled sets: windows of a genome, or sequences, with labels and a split, in one HDF5 file.

The layout is described in docs/reference/file-formats.md. Intervals are 0-based and half-open; a row's
interval is the window the model reads. Equal inputs give equal bytes.
"""

import json
import shlex
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.dataframes import DataFrame, with_values
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.hdf5 import StoredArrays, open_hdf5, texts_of
from dna_bigbird.core.results import brief, representation
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.alphabet import normalise, reverse_complement
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_data import (
    STORE,
    LabelledData,
    PackedLabels,
    bases_digest,
    checked_rows,
    is_labelled_set,
    write_labelled_set,
)
from dna_bigbird.labelled.splits import SPLITS
from dna_bigbird.models.label_types import NUMBERS, TRACKS, label_type_of

__all__ = ["LabelledData", "LabelledSet", "is_labelled_set", "write_labelled_set"]


class TrackTraining(NamedTuple):
    """What the training bins of each track are, (L,) each."""

    count: NDArray[np.float64]
    """Measured bins."""
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    least: NDArray[np.float64]
    """The smallest value."""


class TracksOfRows(NamedTuple):
    """The values of the bins of some rows, read when they are asked for."""

    labelled: "LabelledSet"
    rows: NDArray[np.int64]

    def __getitem__(self, index: Any) -> NDArray[np.float32]:
        """Return the values of one row, (P, L), or of an array of them, (rows, P, L)."""
        values = self.labelled.labels_of(np.atleast_1d(self.rows[index]))
        return values if np.ndim(index) else values[0]


class LabelledSet:
    """Reads a labelled set; may be pickled and used after a fork.

    Args:
        genome: Where the bases of the rows come from; without it only labels and coordinates
            (and stored sequences) can be read.
        verify: Compare all data with their checksums (the attributes always are); about 6 s per GB
            of unpacked labels. Where processes train together, one per machine does it.

    Raises:
        InputError: If the file is not a labelled set or is damaged, or the genome is not the one it
            was made on.
    """

    def __init__(
        self, path: Path | str, genome: Genome | None = None, *, verify: bool = True
    ) -> None:
        self.path = Path(path)
        self.genome = genome
        self._arrays = StoredArrays(self.path, STORE)
        self._read_all(verify)
        if genome is not None and self.needs_genome:
            self._check_genome(genome)

    def _read_all(self, verify: bool) -> None:
        with STORE.open(self.path, verify=verify) as (file, attributes):
            self.task = str(attributes["task"])
            self.assembly = str(attributes["assembly"])
            self.negatives = str(attributes["negatives"])
            self.window_bp = int(attributes["window_bp"])
            self.bin_bp = int(attributes["bin_bp"])
            self.command = str(attributes["command"])
            self.counts: dict[str, float] = json.loads(attributes["counts"])
            self.inputs: dict[str, str] = json.loads(attributes["inputs"])
            self._bases_sha256 = str(attributes["bases_sha256"])
            self.has_coordinates = bool(attributes.get("has_coordinates", 1))
            self.label_names = texts_of(file["labels/name"])
            self.label_type = label_type_of(attributes.get("label_type"), self.label_names)
            self.label_groups = texts_of(file["labels/group"])
            self.label_cells = texts_of(file["labels/cell"])
            self.label_targets = texts_of(file["labels/target"])
            self._lengths = file["chromosomes/length_bp"][:]
            self.intervals = Windows(
                tuple(texts_of(file["chromosomes/name"])),
                file["rows/chrom"][:],
                file["rows/start"][:],
                self.window_bp,
                file["rows/strand"][:],
                file["rows/length"][:] if "rows/length" in file else None,
            )
            self._names = file["rows/name"][:]
            self.split: NDArray[np.uint8] = file["rows/split"][:]
            self.bin_starts = file["rows/bin_start"][:] if "rows/bin_start" in file else None
            self._stored = file["rows/stored"][:] if "rows/stored" in file else None
            self._pair = file["rows/pair"][:] if "rows/pair" in file else None
            self._offsets = file["sequence_offsets"][:] if "sequence_offsets" in file else None
            self._targets = file["labels/values"][:] if "labels/values" in file else None
            self.num_bins = file["labels/bins"].shape[1] if self.label_type == TRACKS else 0
            training = file["labels/training"][:] if self.num_bins else np.zeros((4, 0))
            self.track_training = TrackTraining(*training)
            self.track_clips = file["labels/clip"][:] if self.num_bins else np.zeros(0, np.float32)

    @cached_property
    def packed_labels(self) -> PackedLabels:
        """All labels, eight to a byte, read at first use."""
        with open_hdf5(self.path, STORE.again) as file:
            count = 0 if self.label_type in NUMBERS else len(self.label_names)
            missing = file["labels/missing"][:] if "labels/missing" in file else None
            return PackedLabels(file["labels/bits"][:], count, missing)

    @property
    def labels(self) -> NDArray:
        """All labels, (n, L), targets, or values (n, P, L); for a large set ask `labels_of` for some rows."""
        if self.num_bins:
            return self.labels_of(np.arange(len(self)))
        return self.packed_labels[:] if self._targets is None else self._targets

    def labels_of(self, rows: NDArray[np.int64]) -> NDArray:
        """Return the labels of some rows, (rows, L): 0, 1 or NaN (not measured), or float64 targets.

        Of tracks the values of P bins, (rows, P, L), float32, NaN where not measured.
        """
        if self.num_bins:
            nothing = np.empty((0, self.num_bins, len(self.label_names)), np.float32)
            parts = (
                self._arrays.read("labels/bins", row, row + 1) for row in np.asarray(rows).tolist()
            )
            return np.concatenate([nothing, *parts])
        return (self.packed_labels if self._targets is None else self._targets)[np.asarray(rows)]

    def label_table(
        self, rows: NDArray[np.int64]
    ) -> "PackedLabels | NDArray[np.float64] | TracksOfRows":
        """Return the labels of some rows, packed if they are 0 and 1; those of tracks stay in the file."""
        if self.num_bins:
            return TracksOfRows(self, np.asarray(rows))
        if self._targets is not None:
            return self._targets[np.asarray(rows)]
        return self.packed_labels.keep(np.asarray(rows))

    def chromosomes_of_one_window(self) -> set[str]:
        """Return the chromosomes that are no longer than a window: sequences without a place in a genome."""
        names = zip(self.intervals.chromosomes, self._lengths, strict=True)
        return {name for name, length in names if length <= self.window_bp}

    @property
    def crop_bp(self) -> int:
        """Bases at either end of a window of tracks that have no bin."""
        return (self.window_bp - self.num_bins * self.bin_bp) // 2

    @property
    def needs_genome(self) -> bool:
        """Whether the bases of a row are only in the genome."""
        return self._stored is None or bool((self._stored < 0).any())

    @property
    def has_one_length(self) -> bool:
        """Whether all windows have `window_bp`."""
        return self.intervals.length is None

    def setting(self, name: str) -> str | None:
        """Return a setting of the command that made the set; None if it has none of that name."""
        return dict(pairwise(shlex.split(self.command))).get(f"--{name}")

    @property
    def upstream_bp(self) -> int | None:
        """Bases before the start site in every window of `promoter-set`, as its strand reads; else None."""
        upstream = self.setting("upstream")
        return int(upstream) if upstream and self.command.startswith("promoter-set ") else None

    @property
    def is_semi_synthetic(self) -> bool:
        """Whether the set comes from the demo, whose signals are planted."""
        return self.assembly.startswith("demo")

    @property
    def pairs(self) -> NDArray[np.int64]:
        """(n,), the same number for a positive and its negatives; else for rows of one window."""
        return self.intervals.same_window() if self._pair is None else self._pair

    def __len__(self) -> int:
        return len(self.split)

    def __repr__(self) -> str:
        parts = [brief(self.path), self.task, f"{len(self):,} rows", f"{self.window_bp} bp"]
        return representation(self, *parts, label_names=self.label_names, assembly=self.assembly)

    def to_dataframe(self) -> DataFrame:
        """Return a row per window: chrom, start, end, strand, name, split, bin, then a 0/1 per label.

        Coordinates are 0-based and half-open. `bin_start` and `bin_end` exist if the set labels
        bins; of tracks there is a row per bin. A large set has a byte per row and label; a label that was not
        measured is NaN.
        """
        windows = self.intervals
        columns = {
            "chrom": np.array(windows.chromosomes)[windows.chrom],
            "start": windows.start,
            "end": windows.end,
            "strand": windows.strand.astype(str),
            "name": np.char.decode(self._names, "utf-8"),
            "split": np.array(SPLITS)[self.split],
        }
        if self.bin_starts is not None:
            columns |= {"bin_start": self.bin_starts, "bin_end": self.bin_starts + self.bin_bp}
        if self.num_bins:
            columns = {name: np.repeat(x, self.num_bins) for name, x in columns.items()}
            starts = (windows.start + self.crop_bp)[:, None] + self.bin_bp * np.arange(
                self.num_bins
            )
            columns |= {"bin_start": starts.ravel(), "bin_end": starts.ravel() + self.bin_bp}
        values = self.labels
        return with_values(columns, self.label_names, values.reshape(-1, values.shape[-1]))

    def rows(self, split: str | int) -> NDArray[np.int64]:
        """Return the numbers of the rows of a split, rising."""
        number = SPLITS.index(split) if isinstance(split, str) else split
        return np.flatnonzero(self.split == number)

    def interval(self, row: int) -> Interval:
        """Return the window of a row, with its strand."""
        return self.intervals[row]

    def name(self, row: int) -> str:
        """Return the name of a row."""
        return self._names[row].decode()

    def is_stored(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows have bases of their own, not those of the genome, (rows,)."""
        if self._stored is None:
            return np.zeros(len(rows), dtype=bool)
        return self._stored[np.asarray(rows)] >= 0

    def sequence(self, row: int) -> str:
        """Return the bases of a row as its strand reads them."""
        stored = -1 if self._stored is None else int(self._stored[row])
        if stored >= 0:
            begin, end = (
                (stored, stored + 1)
                if self._offsets is None
                else self._offsets[stored : stored + 2].tolist()
            )
            return self._arrays.read("sequences", begin, end).tobytes().decode("ascii")
        if self.genome is None:
            raise ValueError(f"{self.path}: the bases of row {row} need the genome")
        return self.genome.fetch(self.interval(row))

    def _check_genome(self, genome: Genome) -> None:
        for chrom, length in zip(self.intervals.chromosomes, self._lengths.tolist(), strict=True):
            name = genome.resolve(chrom)
            if genome.lengths[name] != length:
                raise InputError(
                    f"{self.path}: made on {self.assembly}, where {chrom} has {length:,} bp, but it "
                    f"has {genome.lengths[name]:,} bp in {genome.path.name}. Use the same FASTA"
                )
        checked = [self.interval(i) for i in checked_rows(len(self))]
        if bases_digest(genome, checked) != self._bases_sha256:
            raise InputError(
                f"{self.path}: made on {self.assembly}, but {genome.path.name} has other bases in "
                "its windows. Use the FASTA that it was made from"
            )


def open_labelled_set(
    data: Path, genome: Genome | Path | None, *, verify: bool = True
) -> LabelledSet:
    """Open a labelled set with its genome, or without if it has its sequences itself."""
    # Chromosome lengths and the bases of some windows are compared, with `verify` whole files.
    if genome is None:
        labelled = LabelledSet(data, verify=verify)
        if labelled.needs_genome:
            raise InputError(
                f"{data}: this set has coordinates, and its bases are in the genome; add "
                f"--genome with the FASTA file of {labelled.assembly} that it was made from"
            )
        return labelled
    genome = genome if isinstance(genome, Genome) else Genome(genome)
    labelled = LabelledSet(data, genome, verify=verify)
    if not labelled.needs_genome:
        note(f"{data}: this set has its sequences itself; --genome is not read")
        return labelled
    recorded = labelled.inputs.get("genome")
    if verify and recorded is not None and sha256_of(genome.path) != recorded:
        note(
            f"{data}: made from another FASTA file than {genome.path.name}. The lengths of the "
            "chromosomes and the bases of up to 16 windows agree; the other windows are not checked"
        )
    return labelled


# Hashes by which sequences without coordinates are recognised on either strand.

HASH_BYTES = 8
"""Two different sequences have the same hash with a probability of 2^-64."""


def sequence_hash(sequence: str) -> int:
    """Return 64 bits of BLAKE2b that a sequence and its reverse complement share, in any case.

    Example:
        >>> sequence_hash("aacg") == sequence_hash("CGTT") != sequence_hash("AACC")
        True
    """
    forward = normalise(sequence)
    smaller = min(forward, reverse_complement(forward))
    digest = blake2b(smaller.encode("ascii"), digest_size=HASH_BYTES).digest()
    return int.from_bytes(digest, "little")


def row_hashes(labelled: LabelledSet, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash of the sequence of every row, (rows,)."""
    hashes = (sequence_hash(labelled.sequence(row)) for row in rows.tolist())
    return np.fromiter(hashes, dtype=np.uint64, count=len(rows))


def rows_without_coordinates(labelled: LabelledSet, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some rows that have no coordinates."""
    # Also those on chromosomes that are no longer than a window (promoter-sequences).
    if not labelled.has_coordinates:
        return rows
    alone, names = labelled.chromosomes_of_one_window(), labelled.intervals.chromosomes
    is_alone = np.array([name in alone for name in names], dtype=bool)
    return rows[is_alone[labelled.intervals.chrom[rows]]]


# Blocks of the genome; a bootstrap draws all rows of a block together.

SIZES_BP = (1_000_000, 500_000, 200_000, 100_000, 50_000, 20_000, 10_000)
FEWEST = 20
"""Blocks that a bootstrap should have: of fewer the intervals are too narrow and leap about."""


def block_units(
    labelled: LabelledSet, rows: Sequence[int] | NDArray[np.int64], block_bp: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Return the block of each row, (n,), and the length of a block in bp (0: no coordinates)."""
    # Neighbouring windows share bases and the state of their chromatin: rows of one block are not
    # independent evidence. A row lies where the middle of its window does; a negative goes with its
    # positive. With 0 the block is the longest of `SIZES_BP` that gives at least `FEWEST` blocks.
    if not labelled.has_coordinates:
        return labelled.pairs[np.asarray(rows, dtype=np.int64)], 0
    windows = labelled.intervals[_leaders(labelled, np.asarray(rows, dtype=np.int64))]
    if block_bp:
        return windows.stretches(block_bp), block_bp
    for size in [x for x in SIZES_BP if x >= labelled.window_bp] or [labelled.window_bp]:
        units = windows.stretches(size)
        if len(np.unique(units)) >= FEWEST:
            break
    return units, size


def _leaders(labelled: LabelledSet, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the row that says where it lies: the positive of its pair, or itself."""
    # Rows of one window count as a pair where a set names none; they lie at one place anyway.
    if labelled.num_bins:
        return rows
    pairs = labelled.pairs[rows]
    has_positive = (labelled.labels_of(rows) != 0).any(axis=1)
    order = np.lexsort((~has_positive, pairs))
    first = np.unique(pairs[order], return_index=True)[1]
    of_pair = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return rows[order[first][of_pair]]
