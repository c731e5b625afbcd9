"""How often each base occurred in a context: in training sequence, and so far in a sequence that is read."""

from typing import NamedTuple

import numpy as np

from dna_bigbird.baselines.base_kmers import Kmers, shifted

# T bases of the sequence that is read, U different contexts, E events

DENSE_BASES = 12
"""Contexts of so many bases are looked up in a table of all of them (4 bytes each, 67 MB)."""
BATCH_BP = 2_000_000
"""Bases of training sequence counted at once; they take 0.2 GB."""
_FILTER_BITS = 24
_MIX = np.uint64(0x9E3779B97F4A7C15)


class ContextCounts:
    """Counts of the bases in some contexts, from any number of events, added in any order.

    Only contexts that are asked for are kept, so memory depends on the sequence that is scored and
    not on the one that is counted.

    Args:
        contexts: Those that are kept, any shape; repeats are allowed.
        bases: In a context.
    """

    def __init__(self, contexts: np.ndarray, bases: int) -> None:
        in_order = np.sort(contexts, axis=None)
        self.contexts = in_order[np.diff(in_order, prepend=-1) != 0]
        self.counts = np.zeros((len(self.contexts), 4), np.uint32)
        self.latest = np.full((2, len(self.contexts)), -1, np.int64)
        if bases <= DENSE_BASES:
            self._index = np.full(4**bases, -1, np.int32)
            self._index[self.contexts] = np.arange(len(self.contexts))
        else:
            self._index = None
            self._filter = np.zeros(1 << _FILTER_BITS, bool)
            self._filter[_hashed(self.contexts)] = True

    def add(
        self, contexts: np.ndarray, bases: np.ndarray, positions: np.ndarray, strand: int
    ) -> None:
        """Count events of one strand, all of shape (E,).

        Args:
            positions: The last one of each context is remembered, for each strand.
            strand: 0 or 1.
        """
        kept, index = self._find(contexts)
        pairs = np.bincount(index * 4 + bases[kept], minlength=self.counts.size)
        self.counts += pairs.astype(np.uint32).reshape(-1, 4)
        self.latest[strand, index] = positions[kept]

    def at(self, contexts: np.ndarray) -> np.ndarray:
        """Return the counts of contexts that are kept, (T,) to (T, 4)."""
        return self.counts[np.searchsorted(self.contexts, contexts)]

    def latest_at(self, contexts: np.ndarray) -> np.ndarray:
        """Return the position added last for contexts that are kept, by strand, (2, T); -1: none."""
        return self.latest[:, np.searchsorted(self.contexts, contexts)]

    def _find(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which contexts are kept, as positions, and their numbers."""
        if self._index is not None:
            index = self._index[contexts]
            kept = np.flatnonzero(index >= 0)
            return kept, index[kept].astype(np.int64)
        kept = np.flatnonzero(self._filter[_hashed(contexts)])
        index = np.searchsorted(self.contexts, contexts[kept])
        index[index == len(self.contexts)] = 0
        same = self.contexts[index] == contexts[kept] if len(self.contexts) else index < 0
        return kept[same], index[same]


def _hashed(contexts: np.ndarray) -> np.ndarray:
    return (contexts.astype(np.uint64) * _MIX) >> np.uint64(64 - _FILTER_BITS)


class Events(NamedTuple):
    """Contexts and the base that followed, on both strands; all of shape (E,)."""

    contexts: np.ndarray
    bases: np.ndarray
    positions: np.ndarray
    """Index of the base that was read when the event happened."""


def forward_events(kmers: Kmers, order: int) -> Events:
    """Return each known base after `order` known ones."""
    positions = np.flatnonzero(kmers.run > order)
    return Events(shifted(kmers.forward(order), 1)[positions], kmers.codes[positions], positions)


def reverse_events(kmers: Kmers, order: int) -> Events:
    """Return the same of the other strand; an event happens when the last of its bases is read."""
    positions = np.flatnonzero(kmers.run > order)
    bases = 3 - kmers.codes[positions - order]
    return Events(kmers.reverse(order)[positions], bases, positions)


def count_training(counts: ContextCounts, order: int, training: np.ndarray) -> ContextCounts:
    """Add what followed the contexts of `order` bases in training sequence, on both strands.

    Args:
        training: Codes, shape (any,).
    """
    for start in range(0, len(training), BATCH_BP):
        first = max(0, start - order)
        kmers = Kmers(training[first : start + BATCH_BP])
        for strand, events in enumerate(
            (forward_events(kmers, order), reverse_events(kmers, order))
        ):
            counts.add(events.contexts, events.bases, events.positions + first, strand)
    return counts


class SoFar(NamedTuple):
    """What was known of the context of each base before that base was read."""

    known: np.ndarray
    """(Q,) index of the bases that have a context of known bases."""
    counts: np.ndarray
    """(Q, 4)"""
    latest: np.ndarray
    """(2, Q) position of the latest event with this context on either strand; -1: none."""


def count_so_far(kmers: Kmers, order: int, training: np.ndarray | None = None) -> SoFar:
    """Count, for each base, what followed its context earlier in the sequence, on both strands.

    Sorted by context, with time kept within one, a running sum gives the counts exactly.

    Args:
        training: Codes of sequence that is read before; its positions come first, and those of the
            sequence start at its length.
    """
    ahead, back = forward_events(kmers, order), reverse_events(kmers, order)
    contexts, bases, positions = (np.concatenate(pair) for pair in zip(ahead, back, strict=True))
    is_query = np.arange(len(positions)) < len(ahead.positions)
    # A base is asked for before its own event and that of the other strand.
    by_time = np.argsort(2 * positions + ~is_query, kind="stable")
    by_context = by_time[np.argsort(contexts[by_time], kind="stable")]
    contexts, bases, positions, is_query = (
        a[by_context] for a in (contexts, bases, positions, is_query)
    )
    number = np.arange(len(positions))
    is_first = np.concatenate(([True], contexts[1:] != contexts[:-1]))[: len(positions)]
    first = np.maximum.accumulate(np.where(is_first, number, 0))
    offset = 0 if training is None else len(training)
    asked = np.flatnonzero(is_query)
    counts = np.empty((len(asked), 4), np.uint32)
    for base in range(4):
        before = np.cumsum(bases == base) - (bases == base)
        counts[:, base] = (before - before[first])[asked]
    latest = np.stack(
        [_latest(is_query == (strand == 0), first, positions)[asked] for strand in range(2)]
    )
    latest[latest >= 0] += offset
    if training is not None and len(training):
        trained = count_training(ContextCounts(ahead.contexts, order), order, training)
        counts += trained.at(contexts[asked])
        latest = np.where(latest >= 0, latest, trained.latest_at(contexts[asked]))
    back_in_order = np.argsort(positions[asked])
    return SoFar(ahead.positions, counts[back_in_order], latest[:, back_in_order])


def _latest(chosen: np.ndarray, first: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the position of the last chosen event before each one of the same context, else -1."""
    upto = np.maximum.accumulate(np.where(chosen, np.arange(len(chosen)), -1))
    before = np.concatenate(([-1], upto[:-1]))[: len(chosen)]
    return np.where(before >= first, positions[before], -1)
