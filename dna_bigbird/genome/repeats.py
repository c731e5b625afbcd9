"""The repeat class of every base: from the lower case of a FASTA file, or from RepeatMasker's BED.

A figure such as base pairs per token or bits per base is then reported for each class. A token
that lies in two classes is shared between them by its bases.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.bed import beyond_error, iter_bed
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval

UNMASKED, SOFT_MASKED, UNKNOWN = range(3)
SCAN_BP = 4_000_000
"""Bases looked at at a time, to find out whether a chromosome was soft-masked at all."""
JOIN_BP = 100_000
"""Tokens closer than this are looked up in one piece of the genome."""
_UPPER, _LOWER = b"ACGT", b"acgt"
_IS_LOWER = np.zeros(256, dtype=np.uint8)
_IS_LOWER[ord("a") : ord("z") + 1] = SOFT_MASKED


class RepeatClasses:
    """The repeat class of every base of a genome, as an index into `names`."""

    def __init__(self, names: tuple[str, ...], source: "_SoftMask | _Rows") -> None:
        self.names = names
        self._source = source

    @classmethod
    def from_soft_mask(cls, genome: Genome) -> "RepeatClasses":
        """Take lower case for `soft_masked` and the rest for `unmasked`."""
        # A chromosome written in one case from end to end says nothing of repeats: all of it is
        # `unknown`. That is found out when the chromosome is first asked for, a few Mb at a time.
        return cls(("unmasked", "soft_masked", "unknown"), _SoftMask(genome))

    @classmethod
    def from_bed(cls, path: Path | str, genome: Genome, *, pieces: bool = False) -> "RepeatClasses":
        """Take column 4 of a BED file, class or `class/family` as RepeatMasker has it."""
        # Where rows overlap, the one that starts later counts, among those that start together the
        # later line. Memory is 17 bytes per row.
        source = _Rows(path, genome, pieces)
        return cls(("none", *source.names), source)

    def classes(self, interval: Interval) -> np.ndarray:
        """Return the class of every base in forward order, (interval.length,), uint8."""
        return self._source.classes(interval)

    def sums(self, chrom: str, bounds: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Sum values (M,) or (M, K) of tokens with 0-based bounds (M, 2) by class."""
        values = np.asarray(values, dtype=np.float64)
        total = np.zeros((len(self.names), *values.shape[1:]))
        for rows, offsets, base_classes in self._near(chrom, np.asarray(bounds)):
            total += share_by_class(
                values[rows], offsets, base_classes, num_classes=len(self.names)
            )
        return total

    def shares(self, chrom: str, bounds: np.ndarray) -> np.ndarray:
        """Return which share of each token's bases on a chromosome is in each class, (M, names)."""
        bounds = np.asarray(bounds)
        shares = np.zeros((len(bounds), len(self.names)))
        for rows, offsets, base_classes in self._near(chrom, bounds):
            shares[rows] = class_shares(offsets, base_classes, num_classes=len(self.names))
        return shares

    def _near(
        self, chrom: str, bounds: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield tokens that lie close together: row numbers, offsets into the classes of the bases there."""
        for rows in _neighbours(bounds):
            first, last = int(bounds[rows, 0].min()), int(bounds[rows, 1].max())
            yield rows, bounds[rows] - first, self.classes(Interval(chrom, first, last))


def share_by_class(
    values: np.ndarray, bounds: np.ndarray, classes: np.ndarray, *, num_classes: int
) -> np.ndarray:
    """Spread each token's value, (M,) or (M, K), evenly over its bases and sum them by class.

    Example:
        >>> classes = np.array([0, 0, 0, 1], dtype=np.uint8)
        >>> bounds = np.array([[0, 2], [2, 4]])
        >>> share_by_class(np.array([1.0, 5.0]), bounds, classes, num_classes=2)
        array([3.5, 2.5])
    """
    values = np.asarray(values, dtype=np.float64)
    return class_shares(bounds, classes, num_classes=num_classes).T @ values


def class_shares(bounds: np.ndarray, classes: np.ndarray, *, num_classes: int) -> np.ndarray:
    """Return which share of each token's bases lies in each class, (M, num_classes), float64."""
    bounds = np.asarray(bounds)
    lengths = bounds[:, 1] - bounds[:, 0]
    if len(bounds) and (lengths.min() < 1 or bounds.min() < 0 or bounds.max() > len(classes)):
        raise ValueError(f"every token must have a base within 0-{len(classes)}")
    owner = np.repeat(np.arange(len(bounds)), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pairs = owner * num_classes + classes[bounds[owner, 0] + within]
    counts = np.bincount(pairs, minlength=len(bounds) * num_classes).reshape(-1, num_classes)
    return counts / lengths[:, None]


def _neighbours(bounds: np.ndarray) -> Iterator[np.ndarray]:
    """Yield groups of row numbers that lie close together."""
    if not len(bounds):
        return
    order = np.argsort(bounds[:, 0], kind="stable")
    ends = np.maximum.accumulate(bounds[order, 1])
    cuts = np.flatnonzero(bounds[order[1:], 0] - ends[:-1] > JOIN_BP) + 1
    yield from np.split(order, cuts)


class _SoftMask:
    def __init__(self, genome: Genome) -> None:
        self._genome = genome
        self._is_masked: dict[str, bool] = {}

    def classes(self, interval: Interval) -> np.ndarray:
        chrom = self._genome.resolve(interval.chrom)
        letters = self._genome.letters(interval)
        if chrom not in self._is_masked:
            self._is_masked[chrom] = self._has_both_cases(chrom)
        if not self._is_masked[chrom]:
            return np.full(interval.length, UNKNOWN, dtype=np.uint8)
        return _IS_LOWER[np.frombuffer(letters, dtype=np.uint8)]

    def _has_both_cases(self, chrom: str) -> bool:
        upper = lower = False
        length = self._genome.lengths[chrom]
        for start in range(0, length, SCAN_BP):
            piece = Interval(chrom, start, min(start + SCAN_BP, length))
            letters = self._genome.letters(piece)
            upper = upper or any(letter in letters for letter in _UPPER)
            lower = lower or any(letter in letters for letter in _LOWER)
            if upper and lower:
                return True
        return False


class _Rows:
    """The rows of a BED file, for each chromosome sorted by start."""

    def __init__(self, path: Path | str, genome: Genome, pieces: bool) -> None:
        self._genome = genome
        numbers: dict[str, int] = {}
        read: dict[str, tuple[array, array, array]] = {}
        for row in iter_bed(path):
            chrom = genome.find(row.interval.chrom)
            if chrom is None:
                continue
            end = row.interval.end
            if end > genome.lengths[chrom]:
                if not pieces:
                    raise beyond_error(row, genome, chrom, path)
                end = genome.lengths[chrom]
            name = row.name.partition("/")[0]
            if name in ("", "."):
                raise InputError(
                    f"{path}:{row.line_number}: no class in column 4; expected one such as LINE "
                    "or LINE/L1"
                )
            if row.interval.start < end:
                starts, ends, classes = read.setdefault(chrom, (array("q"), array("q"), array("B")))
                starts.append(row.interval.start)
                ends.append(end)
                if numbers.setdefault(name, len(numbers) + 1) > 255:
                    raise InputError(
                        f"{path}:{row.line_number}: {name!r} is class number 256; at most 255 are possible. Does "
                        "column 4 hold names of single repeats? Write the class there"
                    )
                classes.append(numbers[name])
        if not read:
            raise InputError(
                f"{path}: none of its rows is on {genome.path.name}. Is this the right genome?"
            )
        self.names = tuple(numbers)
        self._rows = {chrom: _sorted_rows(*columns) for chrom, columns in read.items()}

    def classes(self, interval: Interval) -> np.ndarray:
        chrom = self._genome.resolve(interval.chrom)
        if not 0 <= interval.start <= interval.end <= self._genome.lengths[chrom]:
            raise InputError(f"{chrom}:{interval.start}-{interval.end} is not within {chrom}")
        result = np.zeros(interval.length, dtype=np.uint8)
        if chrom not in self._rows:
            return result
        starts, ends, reach, classes = self._rows[chrom]
        first = np.searchsorted(reach, interval.start, side="right")
        last = np.searchsorted(starts, interval.end)
        for row in range(first, last):
            start = max(0, int(starts[row]) - interval.start)
            result[start : max(0, int(ends[row]) - interval.start)] = classes[row]
        return result


def _sorted_rows(starts: array, ends: array, classes: array) -> tuple[np.ndarray, ...]:
    """Return starts, ends, the furthest end so far, and classes, by start."""
    order = np.argsort(np.frombuffer(starts, dtype=np.int64), kind="stable")
    sorted_ends = np.frombuffer(ends, dtype=np.int64)[order]
    return (
        np.frombuffer(starts, dtype=np.int64)[order],
        sorted_ends,
        np.maximum.accumulate(sorted_ends),
        np.frombuffer(classes, dtype=np.uint8)[order],
    )


def repeat_classes(genome: Genome, repeats: Path | None, pieces: bool) -> RepeatClasses:
    """Return the repeat class of every base, from a BED file or, without one, from lower case."""
    if repeats is None:
        return RepeatClasses.from_soft_mask(genome)
    return RepeatClasses.from_bed(repeats, genome, pieces=pieces)
