"""Probability of a token from the bases on one side of it: a base n-gram rolled over its letters."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dna_bigbird.baselines.base_kmers import UNKNOWN, Kmers, base_codes
from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.ngram import smooth
from dna_bigbird.genome.alphabet import reverse_complement

# M hidden tokens, V entries of the vocabulary, P prefixes of one length

CONTEXT_BP = 9
"""Bases before the next one that are used; counting takes most of the time of a fit."""


class _Level(NamedTuple):
    """The different prefixes of one length of all pieces."""

    parents: np.ndarray
    """(P,) number of the prefix without the last base, in the level before."""
    bases: np.ndarray
    """(P,) the last base."""
    entries: np.ndarray
    """Entries of the vocabulary that end here."""
    numbers: np.ndarray
    """Of each of these the number of the prefix."""


class RolledBases:
    """log P(piece | bases next to it): each base of the piece from the `CONTEXT_BP` before it.

    Counts are of both strands, so the bases after a piece give its probability too: its reverse
    complement is read from there. Pieces with N are given a quarter per base.

    Args:
        pieces: Letters of all entries of the vocabulary; those before `first_piece_id` are special.
    """

    def __init__(self, pieces: Sequence[str], first_piece_id: int) -> None:
        self._codes = [
            base_codes(p) if i >= first_piece_id else base_codes("") for i, p in enumerate(pieces)
        ]
        known = {i: p for i, p in enumerate(pieces) if i >= first_piece_id and "N" not in p}
        other = {i: reverse_complement(p) for i, p in known.items()}
        self._levels = (_prefixes(known), _prefixes(other))
        self._uniform = np.array([-len(c) * np.log(4.0) for c in self._codes], np.float32)

    def fit_sequences(self, sequences: Sequence[str]) -> "RolledBases":
        """Count the bases of some sequences on both strands."""
        both = [strand for s in sequences for strand in (s, reverse_complement(s))]
        ngram = BaseNgramCausal(CONTEXT_BP + 1).fit_sequences(both)
        tables, p = [], np.full(4, 0.25)
        for order, (counts, factor) in enumerate(zip(ngram._counts, ngram.factors, strict=True)):
            after = counts.reshape(-1, 4)
            total, types = after.sum(axis=1).repeat(4), (after > 0).sum(axis=1).repeat(4)
            p = smooth(counts, total, types, np.tile(p, 4) if order else p, factor)
            tables.append(np.log(p).astype(np.float32))
        self._starts = np.cumsum([0, *map(len, tables)]).astype(np.int32)
        self._table = np.concatenate(tables)
        return self

    def log_probabilities(
        self, shown: np.ndarray, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what both sides say about hidden tokens.

        Args:
            shown: Ids that are seen, -1 where a token says nothing, (T,).
            positions: (M,); what is shown there is not used.

        Returns:
            Logarithms from the left and the right, (2, M, V) float32, and how many bases of context
            each had, (2, M).
        """
        gap = np.full(1, UNKNOWN, np.int8)
        pieces = [self._codes[i] if i >= 0 and len(self._codes[i]) else gap for i in shown]
        codes = np.concatenate(pieces)
        ends = np.cumsum([0, *map(len, pieces)])
        back = np.where(codes < UNKNOWN, 3 - codes, UNKNOWN)[::-1]
        sides = ((codes, ends[positions]), (back, len(codes) - ends[positions + 1]))
        rows = [
            self._walk(levels, *_before(c, at))
            for levels, (c, at) in zip(self._levels, sides, strict=True)
        ]
        return np.stack([p for p, _ in rows]), np.stack([length for _, length in rows])

    def _walk(
        self, levels: list[_Level], contexts: np.ndarray, lengths: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Follow all prefixes from some contexts, (M,)."""
        out = np.tile(self._uniform, (len(contexts), 1))
        log_p, kmers = np.zeros((len(contexts), 1), np.float32), contexts.astype(np.int32)[:, None]
        for depth, level in enumerate(levels):
            order = np.minimum(lengths + depth, CONTEXT_BP).astype(np.int32)[:, None]
            kmers = kmers[:, level.parents] * 4 + level.bases
            kmers &= 4 ** (order + 1) - 1
            log_p = log_p[:, level.parents] + self._table[self._starts[order] + kmers]
            out[:, level.entries] = log_p[:, level.numbers]
            kmers &= 4**CONTEXT_BP - 1
        return out, lengths


def _before(codes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the known bases that end before each index, as a word, and how many they are."""
    kmers = Kmers(codes)
    lengths = np.where(at > 0, np.minimum(kmers.run[at - 1], CONTEXT_BP), 0)
    last = kmers.forward(CONTEXT_BP)[at - 1]
    return last & (4**lengths - 1), lengths


def _prefixes(pieces: dict[int, str]) -> list[_Level]:
    levels, numbers = [], {"": 0}
    for length in range(1, max(map(len, pieces.values()), default=0) + 1):
        prefixes = sorted({p[:length] for p in pieces.values() if len(p) >= length})
        here = {prefix: i for i, prefix in enumerate(prefixes)}
        ends = [(i, here[p]) for i, p in pieces.items() if len(p) == length]
        entries, at = np.array(ends, np.int64).reshape(-1, 2).T
        parents = np.array([numbers[p[:-1]] for p in prefixes])
        bases = np.array(["ACGT".index(p[-1]) for p in prefixes], np.int32)
        levels.append(_Level(parents, bases, entries, at))
        numbers = here
    return levels
