"""Adaptive causal mixture of counts over single bases, as compressors of DNA use it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dna_bigbird.baselines.base_counts import SoFar, count_so_far
from dna_bigbird.baselines.base_inputs import (
    OnlineMixture,
    count_inputs,
    document_score,
    join,
    pieces,
    pseudo_count,
    slices,
    spread,
    true_nats,
)
from dna_bigbird.baselines.base_kmers import UNKNOWN, Kmers, base_codes
from dna_bigbird.baselines.base_ngram import Decoder
from dna_bigbird.baselines.ngram import Score
from dna_bigbird.corpus.token_store import MOST_COUNTED_BP, Store, documents_within

REACH_BP = 200
"""A copy goes on for so many bases after the last occurrence of a whole context, right or wrong."""
HISTORY_BP = 32
"""Bases before the predicted one that are compared with those before the copied one."""
_WRONG = 16
_RUNS = (1, 4, 12, 20, HISTORY_BP)
COPY_BUCKETS = _WRONG * (len(_RUNS) + 1)


class Copies(NamedTuple):
    """Predictions of one copying expert for all T bases of the sequence that is read."""

    base: np.ndarray
    """(T,) int8: the base copied; `UNKNOWN` where nothing is."""
    bucket: np.ndarray
    """(T,) uint8 below `COPY_BUCKETS`: how many of the last bases were right, and how many in a row."""


def copies(
    so_far: SoFar, order: int, strand: int, training: np.ndarray, read: np.ndarray
) -> Copies:
    """Follow the latest occurrence of a context of `order` bases, base by base.

    A copy of the other strand is followed backwards and complemented. Nothing is used that is not
    read before the predicted base.

    Args:
        so_far: Of the sequence `read` after `training`, of the same order.
        strand: 0 the same, 1 the other.
    """
    codes = np.concatenate([training, read])
    position = np.arange(len(read)) + len(training)
    latest = np.full(len(position), -1, np.int64)
    latest[so_far.known] = so_far.latest[strand]
    source = followed(latest, order, strand)
    inside = (source >= 0) & (source < position)
    base = np.where(inside, codes[np.where(inside, source, 0)], UNKNOWN)
    if strand:
        base = np.where(base < UNKNOWN, 3 - base, UNKNOWN)
    right, run = _agreement(codes, position, np.where(base < UNKNOWN, source, -1), strand)
    wrong = np.minimum(HISTORY_BP - right, _WRONG - 1)
    bucket = wrong * (len(_RUNS) + 1) + np.digitize(run, _RUNS)
    return Copies(base.astype(np.int8), np.where(base < UNKNOWN, bucket, 0).astype(np.uint8))


NOWHERE = -(10**9)


def followed(latest: np.ndarray, order: int, strand: int) -> np.ndarray:
    """Return the source that is copied at each position, -1 where the last context is out of reach.

    Args:
        latest: (T,) where the context before each position occurred last (`ContextCounts.latest_at`); -1
            where it did not, `NOWHERE` where a copy ends.
    """
    number = np.arange(len(latest))
    anchor = np.maximum.accumulate(np.where(latest != -1, number, -1))
    age = number - anchor
    started = latest[np.maximum(anchor, 0)]
    source = started - order - age if strand else started + age
    return np.where((anchor >= 0) & (age <= REACH_BP), source, -1)


def _agreement(
    codes: np.ndarray, position: np.ndarray, source: np.ndarray, strand: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many of the last `HISTORY_BP` bases agree, and how many without interruption."""
    right, run = np.zeros(len(source), np.int64), np.zeros(len(source), np.int64)
    unbroken = np.ones(len(source), bool)
    for back in range(1, HISTORY_BP + 1):
        other = source + back if strand else source - back
        valid = (source >= 0) & (position >= back) & (other >= 0) & (other < position)
        mine = codes[np.where(valid, position - back, 0)]
        theirs = codes[np.where(valid, other, 0)]
        agrees = valid & (mine < UNKNOWN) & (mine == (3 - theirs if strand else theirs))
        right += agrees
        unbroken &= agrees
        run += unbroken
    return right, run


# T bases that are read, K experts

ORDERS = (1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20)
"""Bases of the contexts whose counts are mixed."""
COPY_ORDERS = (12, 16, 20, 24)
"""Bases of the contexts whose latest occurrence is copied on, on either strand."""
PRIMER_BP = 300_000
"""Training bases that are read before the scored ones, to learn the weights of the mixture."""
MOST_SCORED_BP = 1_000_000
"""Bases of a store that are scored at most; they take about 1 GB."""
BLOCK_BP = 16
"""The weights of the mixture change after so many bases."""
_CHUNK_BP = 32_768


class BaseMixtureCausal:
    """Each base from those before it: counts of many orders, copies, mixed by online learning.

    Counts are of training sequence and of the read sequence so far, on both strands ("inverted
    repeats"). Copies follow the latest occurrence of a long context and tolerate substitutions. The
    weight of each expert depends on how much it has seen and how sure it is; weights start from a
    primer, a part of the training sequence that is read first, and go on learning on what is scored.
    N is unknown sequence: it is neither predicted nor counted, and context starts again after it.

    Args:
        orders: Bases of the counted contexts, each 1 to 30.
        copy_orders: Bases of the copied contexts, each 1 to 30.

    Raises:
        ValueError: If there is neither.
    """

    def __init__(
        self, orders: Sequence[int] = ORDERS, copy_orders: Sequence[int] = COPY_ORDERS
    ) -> None:
        self.orders, self.copy_orders = tuple(orders), tuple(copy_orders)
        if not self.orders + self.copy_orders:
            raise ValueError("a mixture needs at least one order")
        self._training = np.empty(0, np.int8)
        self._primer = np.empty(0, np.int8)

    def fit(
        self, store: Store, decoder: Decoder, max_documents: int | None = None
    ) -> "BaseMixtureCausal":
        """Take the bases of a store's `covering_documents`, at most `MOST_COUNTED_BP`."""
        chosen = documents_within(store, max_documents, MOST_COUNTED_BP)
        self.counted_documents = len(chosen)
        return self.fit_sequences(decoder.decode(store.document(d)) for d in chosen)

    def score(self, store: Store, decoder: Decoder, max_documents: int | None = None) -> Score:
        """Score every base but N of a held-out store's documents, read one after another.

        At most `MOST_SCORED_BP`, in evenly spaced documents.
        """
        chosen = documents_within(store, max_documents, MOST_SCORED_BP)
        return document_score(self.nll([decoder.decode(store.document(d)) for d in chosen]))

    def fit_sequences(
        self, sequences: Iterable[str], primer_bp: int = PRIMER_BP
    ) -> "BaseMixtureCausal":
        """Take training sequences; those in the middle of equal parts become the primer.

        Memory is 1 byte per base; counting is done when a sequence is scored.
        """
        codes = pieces(base_codes(sequence) for sequence in sequences)
        primer = set(spread([len(c) for c in codes], primer_bp))
        self._training = join(c for i, c in enumerate(codes) if i not in primer)
        self._primer = join(c for i, c in enumerate(codes) if i in primer)
        return self

    @property
    def counted_bp(self) -> int:
        """Training bases, N left out."""
        return int((self._training < UNKNOWN).sum() + (self._primer < UNKNOWN).sum())

    def probabilities(self, sequences: Sequence[str]) -> list[np.ndarray]:
        """Return the probabilities of A C G T at each base of sequences read one after another.

        Shape (bases, 4) each. Context does not cross sequences, counts do. Undefined at N.
        """
        codes = [base_codes(sequence) for sequence in sequences]
        read = join([self._primer, *codes])
        p = _mixed(_Experts(self, read), read)
        ends = np.cumsum([len(self._primer) + 1] + [len(c) + 1 for c in codes])
        return [p[end : end + len(c)] for end, c in zip(ends[:-1], codes, strict=True)]

    def nll(self, sequences: Sequence[str]) -> list[np.ndarray]:
        """Return the nats of each base of sequences read one after another; NaN at N."""
        of_sequences = zip(sequences, self.probabilities(sequences), strict=True)
        return [true_nats(p, base_codes(sequence)) for sequence, p in of_sequences]


class _Experts:
    """What the experts know about each base of the read sequence before it is read."""

    def __init__(self, model: BaseMixtureCausal, read: np.ndarray) -> None:
        kmers, training = Kmers(read), model._training
        self.counts: list[tuple[int, SoFar]] = []
        self.copies: list[Copies] = []
        for order in sorted({*model.orders, *model.copy_orders}):
            so_far = count_so_far(kmers, order, training)
            if order in model.orders:
                self.counts.append((order, so_far._replace(latest=so_far.latest[:, :0])))
            if order in model.copy_orders:
                self.copies += [copies(so_far, order, strand, training, read) for strand in (0, 1)]

    @property
    def number(self) -> int:
        return len(self.counts) + len(self.copies)

    @property
    def sets(self) -> int:
        return len(self.copies) + 1

    def inputs(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return centred log-probabilities (C, K, 4), buckets (C, K), and how many copies there are."""
        parts = [_of_counts(order, so_far, positions) for order, so_far in self.counts]
        parts += [_of_copies(copied, positions) for copied in self.copies]
        inputs = np.stack([part[0] for part in parts], axis=1)
        buckets = np.stack([part[1] for part in parts], axis=1)
        copied = sum((c.base[positions] < UNKNOWN).astype(np.int64) for c in self.copies)
        return inputs, buckets, np.zeros(len(positions), np.int64) + copied


def _of_counts(order: int, so_far: SoFar, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inputs, buckets = np.zeros((len(positions), 4), np.float32), np.zeros(len(positions), np.int64)
    has = np.isin(positions, so_far.known, assume_unique=True)
    at = np.searchsorted(so_far.known, positions[has])
    inputs[has], buckets[has] = count_inputs(so_far.counts[at], pseudo_count(order))
    return inputs, buckets


def _of_copies(copied: Copies, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return copy_inputs(copied.base[positions]), copied.bucket[positions].astype(np.int64)


def copy_inputs(base: np.ndarray) -> np.ndarray:
    """Return what a copied base says of the four, (C,) to (C, 4): nothing where none is copied."""
    chosen = np.flatnonzero(base < UNKNOWN)
    inputs = np.zeros((len(base), 4), np.float32)
    inputs[chosen] = -0.25
    inputs[chosen, base[chosen]] = 0.75
    return inputs


def _mixed(experts: _Experts, read: np.ndarray) -> np.ndarray:
    """Return the probabilities of all known bases, shape (T, 4); NaN at others."""
    mixture = OnlineMixture(experts.number, experts.sets)
    p = np.full((len(read), 4), np.nan)
    known = np.flatnonzero(read < UNKNOWN)
    for chunk in slices(len(known), _CHUNK_BP):
        positions = known[chunk]
        inputs = experts.inputs(positions)
        for block in slices(len(positions), BLOCK_BP):
            here = positions[block]
            p[here] = mixture.predict_and_learn(*(part[block] for part in inputs), read[here])
    return p
