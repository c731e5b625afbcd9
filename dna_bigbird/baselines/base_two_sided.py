"""Two-sided mixture of counts over single bases: one base hidden, everything around it shown."""

from collections.abc import Iterable, Sequence

import numpy as np

from dna_bigbird.baselines.base_counts import BATCH_BP, ContextCounts, count_training
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
from dna_bigbird.baselines.base_kmers import LONGEST, UNKNOWN, Kmers, base_codes, shifted
from dna_bigbird.baselines.base_mixture import NOWHERE, REACH_BP, copy_inputs, followed
from dna_bigbird.baselines.base_ngram import Decoder
from dna_bigbird.baselines.ngram import Score
from dna_bigbird.corpus.token_store import (
    MOST_COUNTED_BP,
    Store,
    covering_documents,
    documents_within,
)

# Q hidden bases, K contexts

HIDDEN = UNKNOWN + 1
"""Code of a base that is hidden together with others: contexts end there, copies go on."""

ONE_SIDED = (8, 10, 11, 12, 16, 20)
CENTRED = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
SKEWED = (
    *((3, 1), (6, 2), (6, 4), (7, 3), (8, 4), (9, 2), (9, 3), (10, 1), (11, 2)),
    *((12, 4), (12, 8), (16, 4)),
)
CONTEXTS = (
    *((n, 0) for n in ONE_SIDED),
    *((0, n) for n in ONE_SIDED),
    *((n, n) for n in CENTRED),
    *SKEWED,
    *((right, left) for left, right in SKEWED),
)
"""Bases left and right of the hidden one in each context that is counted."""
COPY_ORDERS = (12, 16, 24)
"""Bases of the contexts, left or right, whose latest occurrence is copied on, on either strand."""
COPIES = 4 * len(COPY_ORDERS)
COMPARED_BP = 32
"""Bases on each side of the hidden one that are compared with those of the copy."""
AROUND_BP = REACH_BP + max(COPY_ORDERS)
"""Bases on each side of a hidden one that can have an influence; a context and what is compared are shorter."""
_RUNS = (2, 8, 16, 32, 2 * COMPARED_BP)
DEEP_BASES = 16
"""Contexts of so many bases that have occurred are counted to choose the set of weights."""
HELD_BACK_BP, FITTED_BP = 400_000, 200_000
"""Training bases set aside at most to fit the weights, and how many of them are predicted."""
SCORED, APART_BP = 20_000, 50
"""Hidden bases of a held-out store that are scored at most, and their least distance."""
PASSES, FIT_BLOCK_BP = 3, 64
"""How often the fit reads them, and after how many bases the weights change."""


class BaseMixtureTwoSided:
    """A hidden base from the bases on both sides: counts of contexts of many shapes and copies, mixed.

    Counts are of training sequence, on both strands. Copies follow the latest occurrence of a long
    context there and tolerate substitutions. The weight of each context depends on how
    often it occurred and how sure it is; weights are fitted on training sequence that is set aside
    and counted afterwards. Context never reaches past an unknown base (N, an end, another hidden
    base): contexts that would are left out.

    Args:
        contexts: Bases left and right of the hidden one, together 1 to 31.
        hidden_share: Bases that are hidden together, as in a masked example; 0: each alone.
        seed: Of the bases that the weights are fitted on, and their order.
    """

    def __init__(
        self,
        contexts: Sequence[tuple[int, int]] = CONTEXTS,
        seed: int = 0,
        hidden_share: float = 0.0,
    ) -> None:
        for left, right in contexts:
            if min(left, right) < 0 or not 1 <= left + right <= LONGEST:
                raise ValueError(f"a context of {left} and {right} bases: expected 1 to {LONGEST}")
        self.contexts = tuple(contexts)
        self.seed, self.hidden_share = seed, hidden_share
        self._deep = [k for k, sides in enumerate(self.contexts) if sum(sides) >= DEEP_BASES]

    def fit(
        self, store: Store, decoder: Decoder, max_documents: int | None = None
    ) -> "BaseMixtureTwoSided":
        """Take the bases of a store's `covering_documents`, at most `MOST_COUNTED_BP`."""
        chosen = documents_within(store, max_documents, MOST_COUNTED_BP)
        self.counted_documents = len(chosen)
        return self.fit_sequences([decoder.decode(store.document(d)) for d in chosen])

    def score(
        self, store: Store, decoder: Decoder, max_documents: int | None = None, count: int = SCORED
    ) -> Score:
        """Score about `count` bases of a held-out store, `APART_BP` or more apart, each hidden alone.

        They are evenly spaced in the documents of `covering_documents`; N is left out.
        """
        chosen = covering_documents(store, max_documents)
        texts = [decoder.decode(store.document(d)) for d in chosen]
        step = max(APART_BP, sum(map(len, texts)) // max(1, count))
        hidden = [np.arange(step // 2, len(text), step) for text in texts]
        return document_score(self.nll(texts, hidden))

    def fit_sequences(self, sequences: Iterable[str]) -> "BaseMixtureTwoSided":
        """Take training sequences, fit the weights on some of them; 1 byte per base is kept."""
        codes = pieces(base_codes(sequence) for sequence in sequences)
        aside = set(spread([len(c) for c in codes], HELD_BACK_BP))
        counted = join(c for i, c in enumerate(codes) if i not in aside)
        held_back = join(c for i, c in enumerate(codes) if i in aside)
        self._training = join(codes)
        self._mixture = OnlineMixture(len(self.contexts) + COPIES, len(self._deep) + COPIES + 1)
        known = np.flatnonzero(held_back < UNKNOWN)
        rng = np.random.default_rng(self.seed)
        most = round(self.hidden_share * len(known)) if self.hidden_share else len(known)
        chosen = np.sort(rng.choice(known, min(most, FITTED_BP), replace=False))
        inputs = self._inputs(self._shown(held_back, chosen), chosen, counted)
        bases = held_back[chosen]
        for _ in range(PASSES):
            order = rng.permutation(len(bases))
            for block in slices(len(bases), FIT_BLOCK_BP):
                here = order[block]
                self._mixture.predict_and_learn(*(part[here] for part in inputs), bases[here])
        return self

    @property
    def counted_bp(self) -> int:
        """Training bases, N left out."""
        return int((self._training < UNKNOWN).sum())

    def probabilities(
        self, sequences: Sequence[str], positions: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Return the probabilities of A C G T at chosen positions of some sequences.

        With a share of hidden bases all of them are hidden together, else each alone. What is there
        has no influence.

        Args:
            positions: For each sequence those of hidden bases, ascending.

        Returns:
            An array (positions, 4) for each sequence.
        """
        codes = [base_codes(sequence) for sequence in sequences]
        starts = np.cumsum([0, *(len(c) + 1 for c in codes)])[:-1]
        hidden = [
            np.asarray(p, np.int64) + start for p, start in zip(positions, starts, strict=True)
        ]
        everything = np.concatenate([np.empty(0, np.int64), *hidden])
        shown = self._shown(join(codes), everything)
        inputs = self._inputs(shown, everything, self._training)
        p = [np.empty((0, 4))]
        for block in slices(len(everything), BATCH_BP // 64):
            p.append(self._mixture.predict(*(part[block] for part in inputs)))
        return np.split(np.concatenate(p), np.cumsum([len(h) for h in hidden])[:-1])

    def nll(self, sequences: Sequence[str], positions: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the nats of the true bases at chosen positions; NaN at N. See `probabilities`."""
        p = self.probabilities(sequences, positions)
        return [
            true_nats(of_sequence, base_codes(sequence)[here])
            for sequence, here, of_sequence in zip(sequences, positions, p, strict=True)
        ]

    def _shown(self, codes: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Return what is read of bases some of which are hidden."""
        if not self.hidden_share:
            return codes
        shown = codes.copy()
        shown[hidden] = HIDDEN
        return shown

    def _inputs(
        self, shown: np.ndarray, hidden: np.ndarray, counted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what the mixture reads: (Q, K, 4), (Q, K), and the set of weights (Q,)."""
        kmers = Kmers(shown)
        shape = (len(hidden), len(self.contexts))
        inputs, buckets = np.zeros((*shape, 4), np.float32), np.zeros(shape, np.int64)
        deep = np.zeros(len(hidden), np.int64)
        for k, (left, right) in enumerate(self.contexts):
            keys, known = _around(kmers, left, right)
            has = np.flatnonzero(known[hidden])
            asked = keys[hidden[has]]
            counts = _counted(ContextCounts(asked, left + right), left, right, counted).at(asked)
            inputs[has, k], buckets[has, k] = count_inputs(counts, pseudo_count(left + right))
            if k in self._deep:
                deep[has] += counts.any(axis=1)
        copied, level = _copies(shown, hidden, counted)
        deep += copied.any(axis=2).sum(axis=1)
        joined = (np.concatenate(pair, axis=1) for pair in ((inputs, copied), (buckets, level)))
        return *joined, deep


def _copies(
    shown: np.ndarray, hidden: np.ndarray, training: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the copies say of the hidden bases, (Q, `COPIES`, 4), and how sure they are."""
    # What is right of a base is left of it on the other strand.
    other = np.where(shown < UNKNOWN, 3 - shown, shown)[::-1]
    said, level = [], []
    for read, at, is_other in ((shown, hidden, False), (other, len(shown) - 1 - hidden, True)):
        kmers = Kmers(read)
        for order in COPY_ORDERS:
            contexts = shifted(kmers.forward(order), 1)
            known = np.flatnonzero(shifted(kmers.run, 1) >= order)
            occurred = count_training(ContextCounts(contexts[known], order), order, training)
            latest = np.full((2, len(read)), -1, np.int64)
            latest[:, known] = occurred.latest_at(contexts[known])
            latest[:, read == UNKNOWN] = NOWHERE
            for strand in (0, 1):
                source = followed(latest[strand], order, strand)[at]
                base, sure = _copied(read, at, training, source, strand)
                said.append(
                    copy_inputs(np.where(base < UNKNOWN, 3 - base, UNKNOWN) if is_other else base)
                )
                level.append(sure)
    return np.stack(said, axis=1), np.stack(level, axis=1)


def _copied(
    read: np.ndarray, at: np.ndarray, training: np.ndarray, source: np.ndarray, strand: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the base copied to each hidden one, and a level by how many bases around both agree."""
    inside = (source >= 0) & (source < len(training))
    agreeing, run = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
    for side in (-1, 1):
        shown, unbroken = inside.copy(), inside.copy()
        for distance in range(1, COMPARED_BP + 1):
            mine, theirs = at + side * distance, source + (-side if strand else side) * distance
            valid = (
                shown & (mine >= 0) & (mine < len(read)) & (theirs >= 0) & (theirs < len(training))
            )
            base = read[np.where(valid, mine, 0)]
            copy = training[np.where(valid, theirs, 0)]
            shown &= valid & (base != UNKNOWN)
            agrees = shown & (base == (3 - copy if strand else copy))
            agreeing += agrees
            unbroken &= agrees
            run += unbroken
    base = training[np.where(inside, source, 0)]
    base = np.where(inside & (base < UNKNOWN), 3 - base if strand else base, UNKNOWN)
    wrong = np.minimum(2 * COMPARED_BP - agreeing, 31) // 2
    level = np.where(base < UNKNOWN, wrong * (len(_RUNS) + 1) + np.digitize(run, _RUNS), 0)
    return base.astype(np.int8), level


# The context of 3 bases left and 2 right of the hidden base x, at position t:
#
#     position   t-3 t-2 t-1   t   t+1 t+2
#     base        a   b   c    x    d   e        key: a b c d e, two bits each
#
# `forward(n)` has at each position the k-mer that ends there. So abc is found at t - 1 (shifted by 1) and de at
# t + right (shifted by -right); abc moves up by 2 * right bits to make room for de.
# On the other strand the sequence reads e' d' x' c' b' a' (complements). What is left of x there is right of it
# here: `reverse(left)`, whose bases end at t + left (shifted by -left). What is right of it there are the bases
# before x, which end at t - 1 (shifted by 1).


def _around(kmers: Kmers, left: int, right: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the context of each base, and whether all of its bases are known; (T,)."""
    keys = shifted(kmers.forward(left), 1) << (2 * right) | shifted(kmers.forward(right), -right)
    return keys, _shown(kmers, left, right)


def _around_reverse(kmers: Kmers, left: int, right: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of the other strand: what is left there is right of the base here."""
    keys = shifted(kmers.reverse(left), -left) << (2 * right) | shifted(kmers.reverse(right), 1)
    return keys, _shown(kmers, right, left)


def _shown(kmers: Kmers, left: int, right: int) -> np.ndarray:
    shown = shifted(kmers.run, 1) >= left
    return shown & (shifted(kmers.run, -right) >= right) if right else shown


def _counted(counts: ContextCounts, left: int, right: int, training: np.ndarray) -> ContextCounts:
    """Add the bases inside the contexts of training sequence, on both strands."""
    reach = max(left, right)
    for start in range(0, len(training), BATCH_BP):
        first = max(0, start - reach)
        kmers = Kmers(training[first : start + BATCH_BP + reach])
        number = np.arange(len(kmers.codes)) + first
        inside = (number >= start) & (number < start + BATCH_BP) & (kmers.codes < UNKNOWN)
        for strand, around in enumerate((_around, _around_reverse)):
            keys, known = around(kmers, left, right)
            at = np.flatnonzero(known & inside)
            bases = 3 - kmers.codes[at] if strand else kmers.codes[at]
            counts.add(keys[at], bases, at + first, strand)
    return counts
