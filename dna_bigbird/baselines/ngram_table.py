"""Counts of token n-grams as sorted arrays: a whole genome of them fits into the memory of one job."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# G different n-grams, H different contexts, T tokens

PART_GRAMS = 16_000_000
"""N-grams that are sorted at a time; counting needs at most 0.6 GB in addition to its result."""


class GramTable(NamedTuple):
    """How often each n-gram of one order occurs, and what is known of its context.

    An n-gram is numbered by its tokens as digits, so its context is `key // vocab_size`. Memory is
    12 bytes per different n-gram and 16 per different context.
    """

    keys: np.ndarray
    """(G,) int64, rising."""
    counts: np.ndarray
    """(G,) uint32."""
    contexts: np.ndarray
    """(H,) int64, rising."""
    first: np.ndarray
    """(H + 1,) uint32: the n-grams of context i are `first[i]` up to but not including `first[i + 1]`."""
    totals: np.ndarray
    """(H,) uint32, sums of their counts."""

    @classmethod
    def count(cls, sequences: Sequence[np.ndarray], order: int, vocab_size: int) -> "GramTable":
        """Count all n-grams of some sequences of token ids; none spans two sequences."""
        parts = [
            _counted(_grams_between(sequences, order, vocab_size, low, high), vocab_size)
            for low, high in _ranges(sequences, order, vocab_size)
        ]
        columns = [list(column) for column in zip(*parts, strict=True)]
        parts.clear()  # each column is freed once it is joined
        keys, counts, contexts, types, totals = (
            np.concatenate(columns.pop(0)) for _ in range(len(columns))
        )
        if order == 1:  # the one context of all single tokens lies in every part
            contexts, types, totals = _joined(contexts, types, totals)
        return cls(keys, counts, contexts, _starts(types), totals)

    @classmethod
    def of_grams(cls, grams: np.ndarray, vocab_size: int) -> "GramTable":
        """Count n-grams that are given as sorted keys; the last token need not be the rightmost."""
        keys, counts, contexts, types, totals = _counted(grams, vocab_size)
        return cls(keys, counts, contexts, _starts(types), totals)

    def look_up(self, keys: np.ndarray, vocab_size: int) -> tuple[np.ndarray, ...]:
        """Return for each n-gram its count, that of its context and the number of continuations.

        Each is 0 for what never occurred; shapes as `keys`, int64.
        """
        at, is_there = _places(self.keys, keys)
        context, is_known = _places(self.contexts, keys // vocab_size)
        if not len(self.keys):
            return (np.zeros(len(keys), np.int64),) * 3
        types = self.first[context + 1].astype(np.int64) - self.first[context]
        return (
            np.where(is_there, self.counts[at], 0).astype(np.int64),
            np.where(is_known, self.totals[context], 0).astype(np.int64),
            np.where(is_known, types, 0),
        )

    @property
    def num_bytes(self) -> int:
        """Memory of the arrays."""
        return sum(column.nbytes for column in self)


def gram_keys(sequence: np.ndarray, order: int, vocab_size: int) -> np.ndarray:
    """Number every n-gram of a sequence, shape (T - order + 1,); its context is the key // vocab_size.

    Example:
        >>> gram_keys(np.array([1, 2, 3]), order=2, vocab_size=10).tolist()
        [12, 23]
    """
    return _keys_at(sequence, np.arange(max(0, len(sequence) - order + 1)), order, vocab_size)


def _keys_at(sequence: np.ndarray, starts: np.ndarray, order: int, vocab_size: int) -> np.ndarray:
    keys = np.zeros(len(starts), dtype=np.int64)
    for i in range(order):
        keys = keys * vocab_size + sequence[starts + i]
    return keys


def _ranges(sequences: Sequence[np.ndarray], order: int, vocab_size: int) -> list[tuple[int, int]]:
    """Return ranges of first tokens whose n-grams are at most about `PART_GRAMS`."""
    starts = np.zeros(vocab_size, np.int64)
    for sequence in sequences:
        starts += np.bincount(sequence[: max(0, len(sequence) - order + 1)], minlength=vocab_size)
    part = np.maximum(np.cumsum(starts) - 1, 0) // PART_GRAMS
    edges = np.flatnonzero(np.diff(part)) + 1
    return list(itertools.pairwise([0, *edges.tolist(), vocab_size]))


def _grams_between(
    sequences: Sequence[np.ndarray], order: int, vocab_size: int, low: int, high: int
) -> np.ndarray:
    """Return the n-grams whose first token is `low` to before `high`, sorted."""
    keys = [np.empty(0, np.int64)]
    for sequence in sequences:
        heads = sequence[: max(0, len(sequence) - order + 1)]
        starts = np.flatnonzero((heads >= low) & (heads < high))
        keys.append(_keys_at(sequence, starts, order, vocab_size))
    grams = np.concatenate(keys)
    grams.sort()
    return grams


def _counted(grams: np.ndarray, vocab_size: int) -> tuple[np.ndarray, ...]:
    """Return the different n-grams, their counts, their contexts and of those types and totals."""
    keys, counts = _runs(grams)
    contexts, types = _runs(keys // vocab_size)
    first = np.cumsum(types) - types
    totals = np.add.reduceat(counts, first) if len(first) else counts
    columns = (counts, types, totals)
    counts, types, totals = (column.astype(np.uint32) for column in columns)
    return keys, counts, contexts, types, totals


def _starts(types: np.ndarray) -> np.ndarray:
    first = np.zeros(len(types) + 1, np.uint32)
    first[1:] = np.cumsum(types, dtype=np.uint32)
    return first


def _runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different values of a sorted array and how often each occurs."""
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    return values[starts], np.diff(starts, append=len(values))


def _joined(contexts: np.ndarray, types: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, ...]:
    some = len(contexts) > 0
    return contexts[:some], types.sum(keepdims=True)[:some], totals.sum(keepdims=True)[:some]


def _places(values: np.ndarray, sought: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where values would be in a sorted array, within it, and whether they are there."""
    if not len(values):
        return np.zeros(len(sought), np.int64), np.zeros(len(sought), bool)
    at = np.minimum(np.searchsorted(values, sought), len(values) - 1)
    return at, values[at] == sought
