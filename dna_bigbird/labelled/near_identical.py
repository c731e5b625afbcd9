"""Rows of different splits whose sequences are nearly the same: docs/explanation/splits-and-leakage.md."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError

# Sets of informative 12-mers: how much two sequences have in common, on either strand.
#
# A 12-mer and its reverse complement are one. It is identified by a number below 2^24, mixed so that
# small numbers are not special 12-mers. Those with N and those of low complexity have no number.

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
    """Return the 12-mer at every place of rows (m, length): (m, length - 11), `NONE` for none."""
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
    """Return the smallest 12-mer in each range, `NONE` for an empty one: (m, BINS)."""
    # The share of equal bins, among those filled in either, estimates how much of their union two
    # sets have in common (one-permutation hashing: Li, Owen and Zhang 2012).
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
    """Return per row of `a` and `b` their shared 12-mers over those of the larger set, (m,)."""
    both = np.sort(np.concatenate([a, b], axis=1), axis=1)
    shared = ((both[:, 1:] == both[:, :-1]) & (both[:, 1:] != NONE)).sum(axis=1)
    larger = np.maximum((a != NONE).sum(axis=1), (b != NONE).sum(axis=1))
    return shared / np.maximum(larger, 1)


MIN_SHARED = 0.5
"""Rows that share at least this much of their 12-mers are nearly the same."""
LOWEST_SHARED = 0.3
"""Below this too many pairs would be missed by the search (see `_same_neighbours`)."""
MIN_KMERS = 50
"""A row with fewer different informative 12-mers is not compared."""

Fetch = Callable[[NDArray[np.int64]], NDArray[np.uint8]]
"""Row numbers to their bases, (m, length) ASCII."""

_BATCH_BASES = 1 << 22
_BATCH_PAIRS = 1 << 16
_HELD = 1 << 22
"""Candidates held before the weaker ones of a row are dropped."""
_TRIED = 4
"""Candidates of one row and split that are compared in full, the likeliest first."""
_BUCKET = 32
"""Rows of one bucket that are looked at; other buckets look at others of a large family."""


@dataclass(frozen=True)
class NearIdentical:
    """For each row one near row, the likeliest, of each split that is further held out."""

    row: NDArray[np.int64]
    other: NDArray[np.int64]
    share: NDArray[np.float64]
    """Different 12-mers in common over those of the row that has more."""
    not_compared: int
    """Rows with fewer than `MIN_KMERS` informative 12-mers."""


def near_identical(
    fetch: Fetch, length_bp: int, split: NDArray, min_shared: float = MIN_SHARED
) -> NearIdentical:
    """Find rows that are nearly the same as a row of a split with a higher number."""
    # Candidates have two neighbouring bins of their sketches in common; the likeliest are then
    # compared in full. Hardly a pair is missed (docs/explanation/splits-and-leakage.md says how many).
    if not LOWEST_SHARED <= min_shared <= 1:
        raise InputError(f"--min_shared {min_shared}: expected {LOWEST_SHARED} to 1")
    split = np.asarray(split).astype(np.int64)
    sketch, sizes = _sketch_all(fetch, length_bp, len(split))
    is_compared = sizes >= MIN_KMERS
    candidates = _Candidates(split)
    for held_out in range(1, int(split.max(initial=0)) + 1):
        rows = np.flatnonzero(is_compared & (split < held_out))
        others = np.flatnonzero(is_compared & (split == held_out))
        for pairs in _same_neighbours(sketch, rows, others):
            candidates.add(*_likely(sketch, *pairs, min_shared))
    row, other, share = _verified(fetch, length_bp, candidates, split, min_shared)
    return NearIdentical(row, other, share, int((~is_compared).sum()))


def _sketch_all(
    fetch: Fetch, length_bp: int, count: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the sketch of each row and how many different 12-mers it has."""
    sketch = np.empty((count, BINS), dtype=np.uint32)
    sizes = np.empty(count, dtype=np.int64)
    for rows in _batches(np.arange(count), max(1, _BATCH_BASES // length_bp)):
        kmers = kmers_of(fetch(rows))
        sketch[rows] = sketches(kmers)
        sizes[rows] = (distinct(kmers) != NONE).sum(axis=1)
    return sketch, sizes


def _batches(rows: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _same_neighbours(
    sketch: NDArray[np.uint32], rows: NDArray[np.int64], others: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield pairs (row, other) that agree in a bin and in the next, or the next but one."""
    # A bin agrees with probability J, the share of their union that two sets have in common, and
    # two bins with J². With 2 × 128 pairs of bins and J of 1/3 (half of each set) nearly every pair
    # of rows agrees somewhere, and rows that share only a dispersed repeat nearly never do.
    for step in (1, 2):
        for bin_ in range(BINS):
            key = _keys(sketch, others, bin_, step)
            known, key = others[key >= 0], key[key >= 0]
            order = np.argsort(key, kind="stable")
            known, key = known[order], key[order]
            asked = _keys(sketch, rows, bin_, step)
            left = np.searchsorted(key, asked, "left")
            size = np.searchsorted(key, asked, "right") - left
            with_bucket = np.flatnonzero((size > 0) & (asked >= 0))
            left, size = left[with_bucket], size[with_bucket]
            # A bucket larger than what is looked at is read from another place each time.
            spare = np.maximum(size - _BUCKET, 0)
            left += bin_ * _BUCKET % (spare + 1)
            size -= spare
            for part in _batches(np.arange(len(with_bucket)), _BATCH_PAIRS // _BUCKET):
                n = size[part]
                step_in = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
                yield (
                    np.repeat(rows[with_bucket[part]], n),
                    known[np.repeat(left[part], n) + step_in],
                )


def _keys(
    sketch: NDArray[np.uint32], rows: NDArray[np.int64], bin_: int, step: int
) -> NDArray[np.int64]:
    """Two bins as one number, -1 if one of them is empty."""
    first, second = sketch[rows, bin_], sketch[rows, (bin_ + step) % BINS]
    key = first.astype(np.int64) << 32 | second
    return np.where((first == NONE) | (second == NONE), -1, key)


def _likely(
    sketch: NDArray[np.uint32], row: NDArray[np.int64], other: NDArray[np.int64], min_shared: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Keep the pairs whose sketches agree in at least half of what `min_shared` lets expect."""
    a, b = sketch[row], sketch[other]
    filled = ((a != NONE) | (b != NONE)).sum(axis=1)
    agree = (((a == b) & (a != NONE)).sum(axis=1) / filled).astype(np.float32)
    keep = agree >= min_shared / (2 - min_shared) / 2
    return row[keep], other[keep], agree[keep]


class _Candidates:
    """The likeliest pairs of each row and split, from many batches."""

    def __init__(self, split: NDArray[np.int64]) -> None:
        self._split = split
        self._held = [np.empty((0, 2), dtype=np.int64)]
        self._agree = [np.empty(0, dtype=np.float32)]
        self._size = 0

    def add(self, row: NDArray, other: NDArray, agree: NDArray) -> None:
        """Take pairs; one may come many times."""
        self._held.append(np.stack([row, other], axis=1))
        self._agree.append(agree)
        self._size += len(row)
        if self._size > _HELD:
            self.best()

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return (row, other, rank): the first `_TRIED` of each row and split, by likelihood."""
        pairs, agree = np.concatenate(self._held), np.concatenate(self._agree)
        code = pairs[:, 0] * len(self._split) + pairs[:, 1]
        first = np.unique(code, return_index=True)[1]
        pairs, agree = pairs[first], agree[first]
        group = pairs[:, 0] * 3 + self._split[pairs[:, 1]]
        order = np.lexsort((pairs[:, 1], -agree, group))
        pairs, agree, group = pairs[order], agree[order], group[order]
        begin = np.flatnonzero(np.append(True, group[1:] != group[:-1])[: len(group)])
        sizes = np.diff(np.append(begin, len(group)))
        rank = np.arange(len(group)) - np.repeat(begin, sizes)
        keep = rank < _TRIED
        self._held, self._agree, self._size = [pairs[keep]], [agree[keep]], int(keep.sum())
        return pairs[keep, 0], pairs[keep, 1], rank[keep]


def _verified(
    fetch: Fetch,
    length_bp: int,
    candidates: _Candidates,
    split: NDArray[np.int64],
    min_shared: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Compare the candidates in full; return the first near one of each row and split."""
    row, other, rank = candidates.best()
    share = np.zeros(len(row))
    settled: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    group = row * 3 + split[other]
    for tried in range(_TRIED):
        left = np.flatnonzero((rank == tried) & ~np.isin(group, settled))
        for part in _batches(left, max(1, _BATCH_BASES // (2 * length_bp))):
            share[part] = shared_share(
                distinct(kmers_of(fetch(row[part]))), distinct(kmers_of(fetch(other[part])))
            )
        settled = np.append(settled, group[left][share[left] >= min_shared])
    keep = share >= min_shared
    return row[keep], other[keep], share[keep]
