"""Windows on a genome, held as arrays: millions of `Interval` objects would take gigabytes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.genome import Interval


@dataclass(frozen=True, eq=False)
class Windows(Sequence[Interval]):
    """n intervals, mostly of one length; reads like a list of `Interval`, 0-based and half-open."""

    chromosomes: tuple[str, ...]
    """Names, each once."""
    chrom: NDArray[np.uint32]
    """(n,), place in `chromosomes`."""
    start: NDArray[np.int64]
    """(n,), first base; negative if a window runs past the chromosome's beginning."""
    window_bp: int
    """Length of every window, or of the longest."""
    strand: NDArray[np.bytes_] = field(default=None)  # type: ignore[assignment]
    """(n,), b'+', b'-' or b'.'; by default all forward."""
    length: NDArray[np.int64] | None = None
    """(n,), length of each window; None if all have `window_bp`."""

    def __post_init__(self) -> None:
        if self.strand is None:
            object.__setattr__(self, "strand", np.full(len(self.start), b"+", dtype="S1"))

    @classmethod
    def of(cls, intervals: Sequence[Interval], window_bp: int | None = None) -> "Windows":
        """Turn intervals into arrays; `window_bp` is the length of all, None: of any lengths.

        Example:
            >>> Windows.of([Interval("chr2", 5, 9, "-")], 4)[0]
            Interval(chrom='chr2', start=5, end=9, strand='-')
        """
        if isinstance(intervals, Windows):
            return intervals
        length = np.array([x.length for x in intervals], dtype=np.int64)
        longest = int(length.max(initial=1)) if window_bp is None else window_bp
        is_other = length != longest
        if window_bp is not None and is_other.any():
            wrong = intervals[int(is_other.argmax())]
            raise ValueError(f"{wrong} is {wrong.length} bp long, expected {window_bp}")
        names = {name: i for i, name in enumerate(dict.fromkeys(x.chrom for x in intervals))}
        return cls(
            tuple(names),
            np.array([names[x.chrom] for x in intervals], dtype=np.uint32),
            np.array([x.start for x in intervals], dtype=np.int64),
            longest,
            np.array([x.strand.encode() for x in intervals], dtype="S1"),
            length if is_other.any() else None,
        )

    def __len__(self) -> int:
        return len(self.start)

    @overload
    def __getitem__(self, row: int) -> Interval: ...
    @overload
    def __getitem__(self, row: slice | NDArray) -> "Windows": ...
    def __getitem__(self, row):
        """Return one interval, or the windows of a slice, of row numbers or of a mask."""
        if isinstance(row, (slice, np.ndarray)):
            return Windows(
                self.chromosomes,
                self.chrom[row],
                self.start[row],
                self.window_bp,
                self.strand[row],
                None if self.length is None else self.length[row],
            )
        start = int(self.start[row])
        chrom = self.chromosomes[self.chrom[row]]
        length = self.window_bp if self.length is None else int(self.length[row])
        return Interval(chrom, start, start + length, self.strand[row].decode())

    @property
    def end(self) -> NDArray[np.int64]:
        """(n,), not included."""
        return self.start + (self.window_bp if self.length is None else self.length)

    def same_window(self) -> NDArray[np.int64]:
        """(n,), the same number for rows with one chromosome, start, length and strand."""
        if self.length is not None:
            columns = (self.chrom, self.start, self.length, self.strand == b"-")
            table = np.stack([column.astype(np.int64) for column in columns], axis=1)
            return np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)
        return self._numbered(self.start * 2 + (self.strand == b"-"))

    def stretches(self, stretch_bp: int) -> NDArray[np.int64]:
        """(n,), the same number for rows whose centres lie in one stretch of a chromosome."""
        half = (self.window_bp if self.length is None else self.length) // 2
        return self._numbered((self.start + half) // stretch_bp)

    def _numbered(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,), the same number for rows of one chromosome and position, in the order of both."""
        least = int(positions.min(initial=0))
        span = int(positions.max(initial=0)) - least + 1
        index = self.chrom.astype(np.int64) * span + (positions - least)
        return np.unique(index, return_inverse=True)[1].reshape(-1)
