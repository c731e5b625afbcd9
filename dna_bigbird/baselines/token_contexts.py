"""Counts of tokens in contexts of any shape: neighbours at chosen distances on both sides."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dna_bigbird.baselines.ngram_table import GramTable

# M hidden tokens, E entries: pairs of a hidden token and a token that was counted in its context

LARGEST_KEY = 2**62
SINGLE_BASES = 16
"""Entries at most of a vocabulary whose tokens are single bases, special ones included."""
FARTHEST_ALONE = 2
"""Distance at most of a neighbour that is used without those between it and the token."""


class Entries(NamedTuple):
    """What was counted in the contexts of M hidden tokens: E different tokens in all."""

    rows: np.ndarray
    """(E,) number of the hidden token."""
    tokens: np.ndarray
    """(E,) a token that occurred in its context."""
    counts: np.ndarray
    """(E,)"""
    totals: np.ndarray
    """(M,) how often the context occurred; 0 where it is not shown or was never counted."""
    types: np.ndarray
    """(M,) how many different tokens occurred in it."""


class TokenContexts:
    """How often each token occurs between certain neighbours.

    Args:
        offsets: Where the neighbours are, relative to the token: -1 is the one before it.
        vocab_size: Of all ids.
    """

    def __init__(self, offsets: Sequence[int], vocab_size: int) -> None:
        self.offsets, self.vocab_size = tuple(offsets), vocab_size

    def fit(self, ids: np.ndarray) -> "TokenContexts":
        """Count ordinary tokens, -1 between sequences (`joined_tokens`), shape (T,)."""
        keys, known = self._keys(ids)
        known &= ids >= 0
        grams = keys[known] * self.vocab_size + ids[known]
        grams.sort()
        self._table = GramTable.of_grams(grams, self.vocab_size)
        return self

    def look_up(self, shown: np.ndarray, positions: np.ndarray) -> Entries:
        """Return what was counted in the contexts of some positions.

        Args:
            shown: Ids that are seen, -1 where a token says nothing, shape (T,).
        """
        keys, known = self._keys(shown)
        keys, known = keys[positions], known[positions]
        table = self._table
        at = np.searchsorted(table.contexts, keys)
        at[at == len(table.contexts)] = 0
        if not len(table.contexts):
            known = np.zeros_like(known)
            totals = types = np.zeros(len(keys), np.int64)
            return Entries(*(np.empty(0, np.int64),) * 3, totals, types)
        known &= table.contexts[at] == keys
        first = table.first[at].astype(np.int64)
        types = np.where(known, table.first[at + 1] - first, 0)
        rows = np.repeat(np.arange(len(keys)), types)
        entry = np.arange(len(rows)) - np.repeat(np.cumsum(types) - types, types) + first[rows]
        tokens = table.keys[entry] % self.vocab_size
        totals = np.where(known, table.totals[at], 0).astype(np.int64)
        return Entries(rows, tokens, table.counts[entry], totals, types)

    def _keys(self, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each position's context, and whether all of it is shown; (T,)."""
        keys, known = np.zeros(len(shown), np.int64), np.ones(len(shown), bool)
        reach = max(map(abs, self.offsets))
        padded = np.pad(shown.astype(np.int64), reach, constant_values=-1)
        for offset in self.offsets:
            neighbour = padded[reach + offset : reach + offset + len(shown)]
            known &= neighbour >= 0
            keys = keys * self.vocab_size + np.maximum(neighbour, 0)
        return keys, known


def joined_tokens(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """Join token ids to one array, int64, with -1 after each sequence: no context crosses it."""
    gap = np.full(FARTHEST_ALONE, -1)
    parts = [part for ids in sequences for part in (ids.astype(np.int64), gap)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def shapes(vocab_size: int) -> list[tuple[int, ...]]:
    """Return the contexts that are mixed: short ones of long tokens, long ones of single bases."""
    lengths = (1, 2, 3) if vocab_size > SINGLE_BASES else (1, 2, 3, 4, 6, 8, 10, 11, 12)
    pairs = [(1, 1), (2, 1), (1, 2), (2, 2)]
    if vocab_size <= SINGLE_BASES:
        pairs += [(3, 3), (4, 4), (5, 5), (6, 6), (8, 4), (4, 8), (8, 8), (10, 2), (2, 10)]
    sides = [(n, 0) for n in lengths] + [(0, n) for n in lengths] + pairs
    chosen = [(*range(-left, 0), *range(1, right + 1)) for left, right in sides]
    if vocab_size > SINGLE_BASES:
        chosen += [(-FARTHEST_ALONE,), (FARTHEST_ALONE,)]
    return [shape for shape in chosen if vocab_size ** (len(shape) + 1) < LARGEST_KEY]
