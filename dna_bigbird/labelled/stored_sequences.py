"""Sequences of different lengths in one array."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# 0/1 labels, eight to a byte: 2.6 million rows of 919 labels take 300 MB instead of 2.4 GB.

_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, eq=False)
class PackedLabels:
    """A table (n, L) of 0 and 1; indexing its rows gives them unpacked, as uint8."""

    bits: NDArray[np.uint8]
    """(n, ceil(L / 8)); label 0 is the highest bit of byte 0, unused bits are 0."""
    count: int
    """L."""

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
        end = len(bits)
        while parts:
            part = parts.pop().bits
            bits[end - len(part) : end] = part
            end -= len(part)
        return cls(bits, count)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, L)."""
        return len(self.bits), self.count

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, rows) -> NDArray[np.uint8]:
        """Unpack one row, (L,), or the rows of a slice, of numbers or of a mask, (rows, L)."""
        if self.count == 0:  # numpy cannot unpack nothing
            return np.zeros((*self.bits[rows].shape[:-1], 0), dtype=np.uint8)
        return np.unpackbits(self.bits[rows], axis=-1, count=self.count)

    def keep(self, rows: NDArray) -> "PackedLabels":
        """Return some of the rows (numbers or a mask), still packed."""
        return PackedLabels(self.bits[rows], self.count)

    def positives(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Count the positives of every label, (L,), over some rows (numbers) or all."""
        total = np.zeros(self.count, dtype=np.int64)
        for start in range(0, len(self) if rows is None else len(rows), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            total += self[part if rows is None else rows[part]].sum(axis=0, dtype=np.int64)
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
