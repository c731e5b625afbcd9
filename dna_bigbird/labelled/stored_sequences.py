"""Sequences of different lengths in one array."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
