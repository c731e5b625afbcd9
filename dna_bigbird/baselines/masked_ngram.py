"""Count-based predictor of hidden tokens from the token on either side."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from dna_bigbird.baselines.ngram import TokenNgramCausal, TokenUnigram
from dna_bigbird.baselines.ngram_table import GramTable
from dna_bigbird.corpus.counted_documents import Store, covering_tokens


class TokenBigramMasked:
    """P(w | left, right) ∝ P(w | left) P(right | w), with interpolated Witten-Bell bigrams.

    The fair neighbour of a masked model: it sees both sides, but one token of each. A neighbour
    that is hidden, special or missing says nothing. Exact, normalised over all ordinary tokens.
    """

    def __init__(self, first_piece_id: int = 5) -> None:
        self.first_piece_id = first_piece_id

    def fit(self, store: Store, max_documents: int | None = None) -> "TokenBigramMasked":
        """Count the token pairs of a store's `covering_documents`."""
        return self.fit_sequences(covering_tokens(store, max_documents), store.vocab_size)

    def fit_sequences(
        self, sequences: Sequence[np.ndarray], vocab_size: int
    ) -> "TokenBigramMasked":
        """Count the pairs of some sequences of ordinary token ids."""
        self._unigram = TokenUnigram(first_piece_id=self.first_piece_id)
        p = self._unigram.fit_sequences(sequences, vocab_size).probability
        causal = TokenNgramCausal(2, self.first_piece_id).fit_sequences(sequences, vocab_size)
        pairs = _as_matrix(causal.tables[1], vocab_size)
        total = np.asarray(pairs.sum(axis=1)).ravel()
        types = causal.factors[1] * np.diff(pairs.indptr)
        del causal
        scale = np.where(total > 0, total + types, 1.0)
        self.probability = p
        self._fallback = np.where(total > 0, types / scale, 1.0)  # weight of P(w) after a token
        # The seen part of P(column | row); its transpose lists what came before a token.
        pairs.data *= np.repeat(1.0 / scale, np.diff(pairs.indptr))
        self.seen = pairs
        self.before = self.seen.T.tocsr()
        self._sum_unseen = float(p @ self._fallback)
        self._sum_after = self.seen @ self._fallback
        self._sum_before = self.before @ p
        return self

    def probabilities(self, left: np.ndarray, right: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return the probability of tokens between two neighbours, shape as `tokens`.

        Args:
            left, right: Ids of the neighbours, (M,); -1 where one says nothing.
            tokens: (M,) or (N, M); the neighbours are looked up once for all of them.
        """
        p = self.probability
        has_left, has_right = left >= 0, right >= 0
        before, after = np.where(has_left, left, 0), np.where(has_right, right, 0)
        weight = np.where(has_left, self._fallback[before], 1.0)
        both = has_left & has_right
        shared = np.zeros(len(left))
        products = self.seen[before[both]].multiply(self.before[after[both]])
        shared[both] = np.asarray(products.sum(axis=1)).ravel()
        # Σ over w of (weight P(w) + seen(left, w)) (fallback(w) P(right) + seen(w, right)).
        total = (
            weight * p[after] * self._sum_unseen
            + p[after] * np.where(has_left, self._sum_after[before], 0.0)
            + weight * self._sum_before[after]
            + shared
        )
        total = np.where(has_right, total, 1.0)
        seen_left = np.where(has_left, _entries(self.seen, before, tokens), 0.0)
        seen_right = _entries(self.seen, tokens, after)
        from_left = weight * p[tokens] + seen_left
        to_right = self._fallback[tokens] * p[after] + seen_right
        return np.where(has_right, from_left * to_right / total, from_left)

    def neighbours(self, token_ids: np.ndarray, positions: np.ndarray, mask_id: int):
        """Return what an example shows left and right of its positions, -1 where it is nothing.

        Args:
            token_ids: What the model sees, shape (T,), special tokens included.
        """
        shown = np.where((token_ids >= self.first_piece_id) & (token_ids != mask_id), token_ids, -1)
        padded = np.concatenate(([-1], shown, [-1]))
        return padded[positions], padded[positions + 2]


def _as_matrix(pairs: GramTable, vocab_size: int) -> sparse.csr_array:
    """Return the counts of pairs as rows by the first token and columns by the second."""
    rows = np.searchsorted(pairs.keys, np.arange(vocab_size + 1) * vocab_size)
    columns = (pairs.keys % vocab_size).astype(np.int32)
    counts = pairs.counts.astype(np.float64)
    return sparse.csr_array((counts, columns, rows), shape=(vocab_size, vocab_size))


def _entries(matrix: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return entries of a matrix whose columns are sorted in each row; the two are broadcast."""
    rows, columns = np.broadcast_arrays(rows, columns)
    entries = matrix[rows.ravel(), columns.ravel()]
    values = entries.toarray() if sparse.issparse(entries) else np.asarray(entries)
    return values.reshape(rows.shape)
