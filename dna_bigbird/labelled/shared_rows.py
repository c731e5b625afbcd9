"""What one split knows of another: shared bases, near-identical sequences, split pairs.

A leak is reported for the row that is less held out (training before validation before test): for
each such row and each split beyond its own, one other row. The definitions: docs/explanation/splits-and-leakage.md.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome import Genome
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_data import StoredSequences, padded
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet
from dna_bigbird.labelled.near_identical import MIN_SHARED, Fetch, near_identical
from dna_bigbird.labelled.splits import SPLITS

SHARED_BASES, NEAR_IDENTICAL, SPLIT_PAIR = "shared_bases", "near_identical", "split_pair"
COLUMNS = (
    *("row", "split", "chrom", "start", "end", "strand"),
    *("other_row", "other_split", "other_chrom", "other_start", "other_end", "other_strand"),
    *("kind", "measure"),
)


@dataclass(frozen=True)
class Leak:
    """One row that knows something of a row of another split."""

    row: int
    other: int
    category: str
    measure: float
    """Shared bases in bp; shared 12-mers as a share; 1 for a split pair."""


@dataclass(frozen=True)
class Leakage:
    """All leaks of a set, by row, and how much was looked at."""

    leaks: list[Leak]
    not_compared: int
    """Rows of so little complexity that their sequences were not compared."""


@dataclass(frozen=True)
class LeakageRows:
    """What the search needs of a set of n rows."""

    windows: Windows
    split: NDArray[np.int64]
    """(n,), a number of `SPLITS`."""
    pair: NDArray[np.int64]
    """(n,), equal for rows that belong together."""
    fetch: Fetch
    has_coordinates: bool = True
    """False if every row is a chromosome of its own."""


def rows_of_set(data: LabelledSet) -> LeakageRows:
    """Return the rows of a set that was opened with its genome."""

    def fetch(rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        if data.has_one_length:
            return _letters([data.sequence(i) for i in rows.tolist()], data.window_bp)
        parts = (data.sequence(i).encode() for i in rows.tolist())
        return padded([np.frombuffer(part, dtype=np.uint8) for part in parts])

    split = data.split.astype(np.int64)
    return LeakageRows(data.intervals, split, data.pairs, fetch, data.has_coordinates)


def rows_of_data(data: LabelledData, genome: Genome | None) -> LeakageRows:
    """Return the rows of a set in memory; without `pair`, rows of one window belong together."""
    windows = Windows.of(data.intervals, data.window_bp)
    stored = np.full(len(windows), -1) if data.stored is None else data.stored

    def fetch(rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        if isinstance(data.sequences, StoredSequences):
            return padded([data.sequences[i] for i in stored[rows].tolist()])
        letters = np.empty((len(rows), data.window_bp), dtype=np.uint8)
        is_stored = stored[rows] >= 0
        if data.sequences is not None:
            letters[is_stored] = data.sequences[stored[rows[is_stored]]]
        there = [genome.fetch(windows[i]) for i in rows[~is_stored].tolist()]
        letters[~is_stored] = _letters(there, data.window_bp)
        return letters

    pair = windows.same_window() if data.pair is None else data.pair
    split = np.asarray(data.split).astype(np.int64)
    return LeakageRows(windows, split, pair, fetch, data.has_coordinates)


def _letters(sequences: list[str], length_bp: int) -> NDArray[np.uint8]:
    return np.frombuffer("".join(sequences).encode(), dtype=np.uint8).reshape(-1, length_bp)


def find_leaks(rows: LeakageRows, min_shared: float = MIN_SHARED) -> Leakage:
    """Look for everything that one split knows of another; `min_shared` is a share of 12-mers."""
    near = near_identical(rows.fetch, rows.windows.window_bp, rows.split, min_shared)
    leaks = [
        Leak(*leak)
        for category, row, other, measure in (
            (SHARED_BASES, *_shared_bases(rows)),
            (NEAR_IDENTICAL, near.row, near.other, near.share),
            (SPLIT_PAIR, *_split_pairs(rows)),
        )
        for leak in zip(
            row.tolist(), other.tolist(), [category] * len(row), measure.tolist(), strict=True
        )
    ]
    leaks.sort(key=lambda x: (x.row, x.other, x.category))
    return Leakage(leaks, near.not_compared)


RowPairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray]


def _shared_bases(rows: LeakageRows) -> RowPairs:
    """Yield for each row the window of a further split that shares most bases with its own."""
    if not rows.has_coordinates:
        return _joined([])
    if rows.windows.length is not None:
        return _joined([_most_shared(rows, split) for split in (1, 2)])
    # Chromosomes follow each other on one axis, a window apart.
    start, window_bp = rows.windows.start, rows.windows.window_bp
    reach = start.max(initial=0) - start.min(initial=0) + window_bp
    position = start + rows.windows.chrom.astype(np.int64) * reach
    parts = []
    for split in (1, 2):
        row, other = np.flatnonzero(rows.split < split), np.flatnonzero(rows.split == split)
        if not len(other):
            continue
        other = other[np.argsort(position[other], kind="stable")]
        after = np.searchsorted(position[other], position[row])
        best = other[np.minimum(after, len(other) - 1)]
        before = other[np.maximum(after - 1, 0)]
        closer = abs(position[row] - position[before]) <= abs(position[row] - position[best])
        best = np.where(closer, before, best)
        shared = window_bp - abs(position[row] - position[best])
        parts.append((row[shared > 0], best[shared > 0], shared[shared > 0]))
    return _joined(parts)


def _most_shared(rows: LeakageRows, split: int) -> RowPairs:
    """The same for windows of different lengths, row by row."""
    chrom, start, end = rows.windows.chrom, rows.windows.start, rows.windows.end
    pairs: list[tuple[int, int, int]] = []
    asked = np.flatnonzero(rows.split < split)
    for number in np.unique(chrom[rows.split == split]).tolist():
        other = np.flatnonzero((chrom == number) & (rows.split == split))
        other = other[np.argsort(start[other], kind="stable")]
        row = asked[chrom[asked] == number]
        first = np.searchsorted(start[other], start[row] - rows.windows.window_bp)
        last = np.searchsorted(start[other], end[row])
        for x, near in ((x, other[a:b]) for x, a, b in zip(row, first, last, strict=True)):
            shared = np.minimum(end[near], end[x]) - np.maximum(start[near], start[x])
            if len(near) and shared.max() > 0:
                best = int(shared.argmax())
                pairs.append((int(x), int(near[best]), int(shared[best])))
    table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _split_pairs(rows: LeakageRows) -> RowPairs:
    parts = []
    for split in (1, 2):
        row, other = np.flatnonzero(rows.split < split), np.flatnonzero(rows.split == split)
        pair, first = np.unique(rows.pair[other], return_index=True)
        row = row[np.isin(rows.pair[row], pair)]
        mate = other[first[np.searchsorted(pair, rows.pair[row])]]
        parts.append((row, mate, np.ones(len(row), dtype=np.int64)))
    return _joined(parts)


def _joined(parts: list[RowPairs]) -> RowPairs:
    nothing = np.empty(0, dtype=np.int64)
    row, other, measure = zip(*[(nothing, nothing, nothing), *parts], strict=True)
    return np.concatenate(row), np.concatenate(other), np.concatenate(measure)


def write_leaks(path: Path, leaks: list[Leak], data: LabelledSet) -> None:
    """Write a tab-separated table with a header, one leak per line; coordinates as in BED."""

    def cells_of(row: int) -> list[str]:
        x = data.interval(row)
        split = SPLITS[data.split[row]]
        return [str(row), split, x.chrom, str(x.start), str(x.end), x.strand]

    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
        stream.write("\t".join(COLUMNS) + "\n")
        for x in leaks:
            cells = [*cells_of(x.row), *cells_of(x.other), x.category, f"{x.measure:.4g}"]
            stream.write("\t".join(cells) + "\n")


def without_leaks(
    data: LabelledData, genome: Genome | None, min_shared: float = MIN_SHARED
) -> LabelledData:
    """Return the set without rows that know something of a split further held out than theirs."""
    # A training row goes with all rows of its pair, and a validation row with its; the test stays.
    rows = rows_of_data(data, genome)
    leaking = {x.row for x in find_leaks(rows, min_shared).leaks}
    gone = np.isin(rows.pair, rows.pair[sorted(leaking)])
    gone &= rows.split < SPLITS.index("test")
    if not (~gone & (rows.split == 0)).any():
        raise InputError(
            f"every training row ({(rows.split == 0).sum():,}) is nearly the same as a held-out one; "
            "hold out other regions, or keep them: --near_identical keep"
        )
    counts, labelled = dict(data.counts), data.labels.bits.any(axis=1)
    for number, name in enumerate(SPLITS):
        if name != "test":
            counts[f"left_out_leaks_{name}"] = int((gone & (rows.split == number)).sum())
        stays = ~gone & (rows.split == number)
        for key, value in (("rows", stays), ("positives", stays & labelled)):
            if f"{key}_{name}" in counts:
                counts[f"{key}_{name}"] = int(value.sum())
    left = data.keep(~gone)
    left.counts = counts
    return left
