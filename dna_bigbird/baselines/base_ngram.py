"""Count-based causal language model over single bases."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.base_kmers import base_codes
from dna_bigbird.baselines.ngram import (
    HOLD_OUT_EVERY,
    Score,
    best_factor,
    hold_out_every,
    smooth,
)
from dna_bigbird.corpus.token_store import Store, covering_documents

# N characters, V letters of the alphabet


MOST_COUNTED = 20_000_000
"""Characters counted at most, the last ones before the scored part; they take about 1.5 GB."""


class CharacterNgram:
    """N-gram of characters with interpolated Witten-Bell smoothing (see `baselines.ngram.smooth`).

    Args:
        order: Characters in the longest n-gram; a word of them is one number below 2^63.

    Raises:
        ValueError: If the order is below 1, or too long for the alphabet.
    """

    def __init__(self, order: int, alphabet_size: int) -> None:
        if order < 1 or order * np.log2(max(alphabet_size, 2)) >= 63:
            raise ValueError(f"order {order} is below 1 or too long for {alphabet_size} letters")
        self.order, self.alphabet_size = order, alphabet_size

    def fit(self, characters: NDArray[np.uint8]) -> "CharacterNgram":
        """Count the n-grams of at most `MOST_COUNTED` characters."""
        counted = characters[-MOST_COUNTED:]
        self.counted = len(counted)
        self._tables = []
        for n in range(1, self.order + 1):
            grams, times = np.unique(self._grams(counted, n), return_counts=True)
            heads, first = np.unique(grams // self.alphabet_size, return_index=True)
            totals = np.add.reduceat(times, first)
            types = np.diff([*first, len(grams)])
            self._tables.append((grams, times, heads, totals, types))
        return self

    def nll(self, characters: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the nats of each character given those before it, (N,)."""
        p_N = np.full(len(characters), 1 / self.alphabet_size)
        for n, (grams, times, heads, totals, types) in enumerate(self._tables, start=1):
            if len(characters) < n:
                break
            words = self._grams(characters, n)
            seen = _looked_up(grams, times, words)
            head = words // self.alphabet_size
            p_N[n - 1 :] = smooth(
                seen,
                _looked_up(heads, totals, head),
                _looked_up(heads, types, head),
                p_N[n - 1 :],
                1.0,
            )
        return -np.log(p_N)

    def _grams(self, characters: NDArray[np.uint8], n: int) -> NDArray[np.int64]:
        """Return the word of n characters that ends at each position from n - 1 on."""
        words = np.zeros(len(characters) - n + 1, np.int64)
        for i in range(n):
            words = words * self.alphabet_size + characters[i : len(characters) - n + 1 + i]
        return words


def _looked_up(keys: NDArray, values: NDArray, words: NDArray) -> NDArray[np.int64]:
    """Return the value of each key, 0 for unknown ones; keys ascend."""
    at = np.minimum(np.searchsorted(keys, words), len(keys) - 1)
    return np.where(keys[at] == words, values[at], 0)


class Decoder(Protocol):
    """Turns token ids back into bases; a `DnaTokenizer` does."""

    def decode(self, ids: np.ndarray) -> str: ...


MOST_HELD_OUT = 40
"""Documents set aside at most to choose the smoothing; bounds the memory."""
BATCH_BP = 4_000_000
"""Bases counted at once; they take 0.3 GB."""
SPARSE = 8
"""A table with more entries than so many per n-gram is not scanned for them."""


class BaseNgramCausal:
    """Base n-gram with interpolated Witten-Bell smoothing (see `baselines.ngram.smooth`).

    Each of A C G T is predicted from up to `order - 1` bases before it. N is unknown sequence: it
    is neither predicted nor counted, and context starts again after it, as at a document's start.
    The factor of each order is chosen as in `TokenNgramCausal`; without it, long contexts seen
    once or twice look certain and order 12 does worse than order 8.

    Args:
        order: Bases in the longest n-gram; memory of the counts is 5.3 × 4**order bytes (order
            12: 90 MB), for a text of any length.
        factors: One an order, to fix them.
    """

    def __init__(self, order: int = 12, factors: Sequence[float] | None = None) -> None:
        if not 1 <= order <= 14:
            raise ValueError(f"order {order} must be 1 to 14")
        self.order = order
        self._fixed = factors
        self.factors = list(factors or [1.0] * order)

    def fit(
        self, store: Store, decoder: Decoder, max_documents: int | None = None
    ) -> "BaseNgramCausal":
        """Count the bases of a store's `covering_documents`."""
        chosen = covering_documents(store, max_documents)
        return self.fit_sequences(
            (decoder.decode(store.document(d)) for d in chosen),
            every=hold_out_every(len(chosen), MOST_HELD_OUT),
        )

    def fit_sequences(
        self, sequences: Iterable[str], every: int = HOLD_OUT_EVERY
    ) -> "BaseNgramCausal":
        """Count the n-grams of some normalised sequences, read once.

        Args:
            every: Sequence 1 (from 0) and every so many after it choose the factors.
        """
        self._counts = [np.zeros(4**n, dtype=np.uint32) for n in range(1, self.order + 1)]
        held_out: list[str] = []

        def others() -> Iterator[str]:
            for i, sequence in enumerate(sequences):
                if i % every == 1 and len(held_out) < MOST_HELD_OUT:
                    held_out.append(sequence)
                else:
                    yield sequence

        for text in _batches(others()):
            self._count(text)
        if self._fixed is None and held_out:
            self._choose(held_out)
        for text in _batches(held_out):
            self._count(text)
        return self

    @property
    def counted_bp(self) -> int:
        """Bases counted, N left out."""
        return int(self._counts[0].sum())

    def _count(self, text: str) -> None:
        for counts, (_, grams) in zip(self._counts, _grams(text, self.order), strict=True):
            if len(counts) <= SPARSE * len(grams):
                counts += np.bincount(grams, minlength=len(counts)).astype(np.uint32)
            else:
                seen, times = np.unique(grams, return_counts=True)
                counts[seen] += times.astype(np.uint32)

    def _choose(self, held_out: Sequence[str]) -> None:
        text = "N".join(held_out)  # context starts again after N
        p = np.full(len(text), 0.25)
        for i, (ends, grams) in enumerate(_grams(text, self.order)):
            statistics = self._look_up(i, grams)
            self.factors[i] = best_factor(*statistics, p[ends])
            p[ends] = smooth(*statistics, p[ends], self.factors[i])

    def _look_up(self, i: int, grams: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return c(h w), c(h) and t(h) of n-grams of i + 1 bases."""
        after = self._counts[i].reshape(-1, 4)[grams // 4]
        return self._counts[i][grams], after.sum(axis=1), (after > 0).sum(axis=1)

    def nll(self, sequence: str) -> np.ndarray:
        """Return the nats of each base given those before it; NaN at N. Shape (bases,)."""
        p = np.full(len(sequence), 0.25)
        for i, (ends, grams) in enumerate(_grams(sequence, self.order)):
            p[ends] = smooth(*self._look_up(i, grams), p[ends], self.factors[i])
        p[base_codes(sequence) == 4] = np.nan
        return -np.log(p)

    def score(self, store: Store, decoder: Decoder, max_documents: int | None = None) -> Score:
        """Score every base but N of the `covering_documents` of a held-out store."""
        documents = map(store.document, covering_documents(store, max_documents))
        nlls = (self.nll(decoder.decode(ids)) for ids in documents)
        counts = ((np.nansum(nll), int(np.isfinite(nll).sum())) for nll in nlls)
        return Score.of((nats, count, count) for nats, count in counts)


def _batches(sequences: Iterable[str]) -> Iterator[str]:
    """Join sequences, with N between them, to texts of about `BATCH_BP` or one sequence."""
    batch: list[str] = []
    size = 0
    for sequence in sequences:
        batch.append(sequence)
        size += len(sequence)
        if size >= BATCH_BP:
            yield "N".join(batch)
            batch, size = [], 0
    if batch:
        yield "N".join(batch)


def _grams(sequence: str, order: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each order the index of the last base of every n-gram and its number."""
    codes = base_codes(sequence).astype(np.int64)
    ends = np.flatnonzero(codes < 4)
    grams = codes[ends]
    yield ends, grams
    for _ in range(1, order):
        # An n-gram grows to the left: the (n-1)-gram that ends one base earlier must exist.
        previous = np.full(len(codes), -1, dtype=np.int64)
        previous[ends] = grams
        ends = ends[(ends > 0) & (previous[ends - 1] >= 0)]
        grams = previous[ends - 1] * 4 + codes[ends]
        yield ends, grams
