"""Mixture of counts of hidden tokens in contexts of shown tokens on both sides."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dna_bigbird.baselines.ngram import TokenUnigram, hold_out_every
from dna_bigbird.baselines.ngram_table import GramTable
from dna_bigbird.baselines.rolled_bases import CONTEXT_BP, RolledBases
from dna_bigbird.corpus.token_store import (
    MOST_COUNTED_BP,
    TOKEN_TYPE,
    Store,
    documents_within,
)

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


# M hidden tokens, V entries of the vocabulary, K contexts, E counted tokens of all contexts

LEVELS = 20
"""Levels of confidence of a context, by how often it occurred; each has its own weight."""
SMOOTHING = 1.0
"""Factor on the number of types, as in `baselines.ngram.smooth`."""
MOST_COUNTED_SINGLE_BP = 5_000_000
"""Of `MOST_COUNTED_BP` if tokens are single bases: their long contexts take about 3 GB."""
HIDDEN_SHARE = 0.15
"""Share of the tokens that are hidden when weights are fitted, as in the paper's masking."""
MOST_HELD_OUT, FITTED_TOKENS = 200, 6000
"""Documents set aside at most, and their hidden tokens that the weights are fitted on."""
MOST_ROLLED = 4096
"""Entries of a vocabulary at most for which base n-grams are rolled over every piece."""
PASSES, BLOCK_TOKENS = 4, 64
_START, _RATE, _WARMTH = 0.3, 0.05, 1e-2


class _Block(NamedTuple):
    """Some hidden tokens and what was counted in their contexts."""

    size: int
    cells: np.ndarray
    """(E,) pair of hidden token and vocabulary entry: M × V of them."""
    inputs: np.ndarray
    """(E,) how much more often the entry occurred than its frequency predicts, logarithm."""
    weights: np.ndarray
    """(E,) which weight applies."""
    rolled: np.ndarray
    """(2, M, V) log-probabilities from the bases on either side; (0, M, V) without."""
    rolled_weights: np.ndarray
    """(2, M) which weight applies."""


class TokenMixtureMasked:
    """P(w) ∝ P1(w)^g exp Σ over contexts k of v(k, level) log(1 + c(k, w) / (f t(k) P1(w))).

    P1 are the token frequencies. The sum is the logarithm of the product of the interpolated
    Witten-Bell probabilities of all contexts, each divided by P1 and with its own power, which
    depends on how often the context occurred. Contexts are the tokens before, after and on both sides
    (`token_contexts.shapes`); one that includes a hidden token, a special token or an end is left
    out. With the letters of the pieces, the sum also contains the log-probability of a piece from the
    bases on either side (`rolled_bases`), each with a power. The powers are fitted on training
    documents that are set aside and counted afterwards.

    Attributes:
        counted_tokens: How often each entry of the vocabulary was counted, (V,).
        counted_documents: Documents of the store that was counted.
    """

    def __init__(
        self, first_piece_id: int = 5, pieces: Sequence[str] | None = None, seed: int = 0
    ) -> None:
        self.first_piece_id, self.seed = first_piece_id, seed
        self._pieces = pieces if pieces and len(pieces) <= MOST_ROLLED else None

    def fit(self, store: Store, max_documents: int | None = None) -> "TokenMixtureMasked":
        """Count the tokens of a store's `covering_documents`, at most `MOST_COUNTED_BP`."""
        is_single = store.vocab_size <= SINGLE_BASES
        most = MOST_COUNTED_SINGLE_BP if is_single else MOST_COUNTED_BP
        chosen = documents_within(store, max_documents, most)
        tokens = [store.document(d).astype(TOKEN_TYPE) for d in chosen]
        self.counted_documents = len(tokens)
        return self.fit_sequences(tokens, store.vocab_size)

    def fit_sequences(
        self, sequences: Sequence[np.ndarray], vocab_size: int
    ) -> "TokenMixtureMasked":
        """Count some sequences of ordinary token ids and fit the weights."""
        self.vocab_size = vocab_size
        chosen = shapes(vocab_size)
        self.powers = np.full(len(chosen) * LEVELS + 2 * (CONTEXT_BP + 1) + 1, _START)
        self.powers[-1] = 1.0  # of P1
        self._first_rolled = len(chosen) * LEVELS
        every = hold_out_every(len(sequences), MOST_HELD_OUT)
        held_out = sequences[1::every]
        if held_out:
            self._count([s for i, s in enumerate(sequences) if i % every != 1])
            self._fit_powers(held_out)
        self._count(sequences)
        return self

    def probabilities(
        self, shown: np.ndarray, positions: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        """Return the probability of tokens at some hidden positions, shape as `tokens`.

        Args:
            shown: Ids that are seen, -1 where a token says nothing, (T,).
            positions: (M,); what is shown there is not used.
            tokens: (M,) or (N, M).
        """
        p = np.empty(tokens.shape)
        for start in range(0, len(positions), BLOCK_TOKENS):
            here = slice(start, start + BLOCK_TOKENS)
            of_block = self._distribution(self._block(shown, positions[here]))
            p[..., here] = of_block[np.arange(len(of_block)), tokens[..., here]]
        return p

    def shown(self, token_ids: np.ndarray, mask_id: int) -> np.ndarray:
        """Return the ids that an example shows, -1 at [MASK] and special tokens, (T,)."""
        ordinary = (token_ids >= self.first_piece_id) & (token_ids != mask_id)
        return np.where(ordinary, token_ids, -1)

    def _count(self, sequences: Sequence[np.ndarray]) -> None:
        joined = joined_tokens(sequences)
        self.counted_tokens = np.bincount(joined[joined >= 0], minlength=self.vocab_size)
        unigram = TokenUnigram(first_piece_id=self.first_piece_id)
        p = unigram.fit_counts(self.counted_tokens).probability
        self._log_p = np.log(np.maximum(p, 1e-300)).astype(np.float32)
        self._contexts = [
            TokenContexts(offsets, self.vocab_size).fit(joined)
            for offsets in shapes(self.vocab_size)
        ]
        if self._pieces:
            texts = ["".join([self._pieces[i] for i in ids.tolist()]) for ids in sequences]
            self._rolled = RolledBases(self._pieces, self.first_piece_id).fit_sequences(texts)

    def _block(self, shown: np.ndarray, positions: np.ndarray) -> _Block:
        parts = []
        for k, context in enumerate(self._contexts):
            entries = context.look_up(shown, positions)
            smoothing = SMOOTHING * entries.types[entries.rows]
            rarity = np.exp(-self._log_p[entries.tokens])
            inputs = np.log1p(entries.counts / smoothing * rarity).astype(np.float32)
            level = np.minimum(np.ceil(np.log2(entries.totals + 1)), LEVELS - 1).astype(np.int64)
            cells = entries.rows * self.vocab_size + entries.tokens
            parts.append((cells, inputs, (k * LEVELS + level)[entries.rows]))
        rolled = np.empty((0, len(positions), self.vocab_size), np.float32)
        rolled_weights = np.empty((0, len(positions)), np.int64)
        if self._pieces:
            rolled, lengths = self._rolled.log_probabilities(shown, positions)
            rolled_weights = self._first_rolled + lengths + [[0], [CONTEXT_BP + 1]]
        joined = (np.concatenate(x) for x in zip(*parts, strict=True))
        return _Block(len(positions), *joined, rolled, rolled_weights)

    def _distribution(self, block: _Block) -> np.ndarray:
        """Return the probabilities of all entries of the vocabulary, (M, V)."""
        shape = (block.size, self.vocab_size)
        weighted = self.powers[block.weights] * block.inputs
        score = np.bincount(block.cells, weighted, minlength=shape[0] * shape[1]).reshape(shape)
        score += self.powers[-1] * self._log_p
        for rolled, weights in zip(block.rolled, block.rolled_weights, strict=True):
            score += self.powers[weights][:, None] * rolled
        score -= score.max(axis=1, keepdims=True)
        np.exp(score, out=score)
        score[:, : self.first_piece_id] = 0
        return score / score.sum(axis=1, keepdims=True)

    def _fit_powers(self, held_out: Sequence[np.ndarray]) -> None:
        rng = np.random.default_rng(self.seed)
        blocks = list(self._hidden_blocks(held_out, rng))
        squares = np.full(len(self.powers), _WARMTH)
        for _ in range(PASSES):
            for number in rng.permutation(len(blocks)):
                block, labels = blocks[number]
                p = self._distribution(block)
                step = self._slope(block, labels, p)
                squares += step * step
                self.powers += _RATE * step / np.sqrt(squares)

    def _slope(self, block: _Block, labels: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the derivatives of the log-probability of the true tokens."""
        error = -p
        error[np.arange(len(labels)), labels] += 1
        each = error.ravel()[block.cells] * block.inputs
        slope = np.bincount(block.weights, each, minlength=len(self.powers))
        for rolled, weights in zip(block.rolled, block.rolled_weights, strict=True):
            slope += np.bincount(weights, (error * rolled).sum(axis=1), minlength=len(slope))
        slope[-1] = (error[:, self.first_piece_id :] @ self._log_p[self.first_piece_id :]).sum()
        return slope

    def _hidden_blocks(self, held_out: Sequence[np.ndarray], rng: np.random.Generator):
        """Hide tokens of documents and yield blocks of them with the true tokens."""
        share = FITTED_TOKENS / max(1, HIDDEN_SHARE * sum(map(len, held_out)))
        for ids in held_out:
            hidden = np.flatnonzero(rng.random(len(ids)) < HIDDEN_SHARE)
            shown = ids.astype(np.int64)
            shown[hidden] = -1
            fitted = hidden[rng.random(len(hidden)) < share]
            for start in range(0, len(fitted), BLOCK_TOKENS):
                here = fitted[start : start + BLOCK_TOKENS]
                yield self._block(shown, here), ids[here].astype(np.int64)
