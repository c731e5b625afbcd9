"""k-mers as numbers: what contexts on either side of a base are looked up by."""

import numpy as np

UNKNOWN = 4
"""Code of N and of every letter but A C G T."""
LONGEST = 31
"""Bases in a k-mer at most: two bits each in an int64, and none of them is negative."""
_CODES = np.full(256, UNKNOWN, dtype=np.int8)
_CODES[np.frombuffer(b"ACGT", dtype=np.uint8)] = range(4)


def base_codes(sequence: str) -> np.ndarray:
    """Return 0 to 3 for A C G T and `UNKNOWN` for other letters, int8.

    Example:
        >>> base_codes("GATNA").tolist()
        [2, 0, 3, 4, 0]
    """
    return _CODES[np.frombuffer(sequence.encode("ascii"), dtype=np.uint8)]


class Kmers:
    """The k-mers of each length that end at every base of a sequence, on both strands.

    Args:
        codes: Of `base_codes`, shape (T,).

    Attributes:
        run: Known bases that end at a base without a gap, shape (T,): a k-mer ends there
            if it is at least k.
    """

    def __init__(self, codes: np.ndarray) -> None:
        known = codes < UNKNOWN
        number = np.arange(len(codes))
        self.run = number - np.maximum.accumulate(np.where(known, -1, number))
        self.codes = codes
        self._single = np.where(known, codes, 0).astype(np.int64)

    def forward(self, length: int) -> np.ndarray:
        """Return the k-mer of `length` bases that ends at each base, the last base lowest.

        Undefined where `run` is shorter than the k-mer.

        Example:
            >>> Kmers(base_codes("ACGT")).forward(2).tolist()[1:]
            [1, 6, 11]
        """
        return _joined(self._single, length, _append)

    def reverse(self, length: int) -> np.ndarray:
        """Return the reverse complement of `forward`.

        Example:
            >>> Kmers(base_codes("ACGT")).reverse(2).tolist()[1:]
            [11, 6, 1]
        """
        return _joined(3 - self._single, length, _prepend)


def shifted(kmers: np.ndarray, by: int) -> np.ndarray:
    """Return kmers[i - by] at each i, 0 where there is none; `by` may be negative.

    Example:
        >>> shifted(np.array([5, 6, 7]), 1).tolist(), shifted(np.array([5, 6, 7]), -2).tolist()
        ([0, 5, 6], [7, 0, 0])
    """
    out = np.zeros_like(kmers)
    if by >= len(kmers) or -by >= len(kmers):
        return out
    if by >= 0:
        out[by:] = kmers[: len(kmers) - by]
    else:
        out[:by] = kmers[-by:]
    return out


def _append(before: np.ndarray, last: np.ndarray, before_length: int, last_length: int):
    return shifted(before, last_length) << (2 * last_length) | last


def _prepend(before: np.ndarray, last: np.ndarray, before_length: int, last_length: int):
    return last << (2 * before_length) | shifted(before, last_length)


def _joined(single: np.ndarray, length: int, join) -> np.ndarray:
    """Build k-mers of `length` bases by doubling."""
    if not 0 <= length <= LONGEST:
        raise ValueError(f"a k-mer of {length} bases: expected 0 to {LONGEST}")
    whole, whole_length, part, part_length = np.zeros_like(single), 0, single, 1
    while True:
        if length & part_length:
            whole = join(part, whole, part_length, whole_length) if whole_length else part
            whole_length += part_length
        if whole_length == length:
            return whole
        part = join(part, part, part_length, part_length)
        part_length *= 2
