"""Sets of informative 12-mers: how much two sequences have in common, on either strand.

A 12-mer and its reverse complement are one. It is identified by a number below 2^24, mixed so that
small numbers are not special 12-mers. Those with N and those of low complexity have no number.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

K = 12
MIN_TRIPLETS = 7
"""A 12-mer holds 10 overlapping triplets; with fewer different ones it is of low complexity. Every
repeat of a unit of up to 6 bp is, and a run of A with one other base in it."""
NONE = np.uint32(0xFFFFFFFF)
"""In place of a 12-mer that has no number; larger than all of them."""
BINS = 128
"""A sketch keeps the smallest number of each of this many ranges of numbers."""

_CODES = 4**K
_CHUNK = 1 << 21


def kmers_of(bases: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return the number of the 12-mer at every place of every row, `NONE` where it has none.

    Args:
        bases: (m, length), ASCII letters A, C, G, T, N in upper case.

    Returns:
        (m, length - 11); (m, 0) for shorter rows.
    """
    if bases.shape[1] < K:
        return np.empty((len(bases), 0), dtype=np.uint32)
    two_bits = _TWO_BITS[bases].astype(np.uint32)
    is_n = bases == ord("N")
    two = two_bits[:, :-1] << 2 | two_bits[:, 1:]
    four = two[:, :-2] << 4 | two[:, 2:]
    eight = four[:, :-4] << 8 | four[:, 4:]
    kmers = _numbers()[eight[:, :-4] << 8 | four[:, 8:]]
    if is_n.any():
        seen = np.pad(np.cumsum(is_n, axis=1, dtype=np.int32), ((0, 0), (1, 0)))
        kmers[seen[:, K:] > seen[:, :-K]] = NONE
    return kmers


_TWO_BITS = np.zeros(256, dtype=np.uint8)
_TWO_BITS[list(b"ACGT")] = range(4)


@cache
def _numbers() -> NDArray[np.uint32]:
    """Return the number of each of the 4^12 words of two bits per base; 64 MB."""
    table = np.empty(_CODES, dtype=np.uint32)
    for start in range(0, _CODES, _CHUNK):
        code = np.arange(start, start + _CHUNK, dtype=np.uint32)
        number = _mixed(np.minimum(code, _other_strand(code)))
        number[_different_triplets(code) < MIN_TRIPLETS] = NONE
        table[start : start + _CHUNK] = number
    return table


def _other_strand(code: NDArray[np.uint32]) -> NDArray[np.uint32]:
    rest, result = code.copy(), np.zeros_like(code)
    for _ in range(K):
        result = result << 2 | (3 - (rest & 3))
        rest >>= 2
    return result


def _different_triplets(code: NDArray[np.uint32]) -> NDArray[np.uint8]:
    seen = np.zeros(len(code), dtype=np.uint64)
    count = np.zeros(len(code), dtype=np.uint8)
    for offset in range(K - 2):
        bit = np.uint64(1) << (code >> np.uint32(2 * offset) & 63).astype(np.uint64)
        count += (seen & bit) == 0
        seen |= bit
    return count


def _mixed(code: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Shuffle the numbers below 2^24 among themselves; no two become one."""
    for factor in (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35):  # odd, so each step can be undone
        code = code * np.uint32(factor) & np.uint32(_CODES - 1)
        code ^= code >> np.uint32(K)
    return code


def sketches(kmers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the smallest number of each of the `BINS` ranges, `NONE` for an empty one.

    For two sets the share of equal bins, among those filled in either, estimates how much of their
    union they have in common (one-permutation hashing: Li, Owen and Zhang 2012).

    Args:
        kmers: (m, p), from `kmers_of`.

    Returns:
        (m, BINS)
    """
    m = len(kmers)
    flat = np.full(m * (BINS + 1), NONE)  # the last bin of a row takes what has no number
    range_of = np.minimum(kmers >> np.uint32(2 * K - 7), BINS).astype(np.int64)
    np.minimum.at(flat, (np.arange(m)[:, None] * (BINS + 1) + range_of).ravel(), kmers.ravel())
    return flat.reshape(m, BINS + 1)[:, :BINS]


def distinct(kmers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the different 12-mers of each row, ascending, `NONE` in between and after; (m, p)."""
    ascending = np.sort(kmers, axis=1)
    ascending[:, 1:][ascending[:, 1:] == ascending[:, :-1]] = NONE
    return ascending


def shared_share(a: NDArray[np.uint32], b: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return for each row of `a` and of `b` the 12-mers they share over those of the larger set.

    Args:
        a, b: (m, p) and (m, q), from `distinct`.

    Returns:
        (m,), 0 where neither has a 12-mer.
    """
    both = np.sort(np.concatenate([a, b], axis=1), axis=1)
    shared = ((both[:, 1:] == both[:, :-1]) & (both[:, 1:] != NONE)).sum(axis=1)
    larger = np.maximum((a != NONE).sum(axis=1), (b != NONE).sum(axis=1))
    return shared / np.maximum(larger, 1)
