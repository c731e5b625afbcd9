"""Count-based predictor of hidden tokens from the token on either side."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from dna_bigbird.baselines.ngram import Store, TokenNgramCausal, TokenUnigram, covering_tokens


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
        left = np.concatenate([s[:-1] for s in sequences] or [np.zeros(0, np.int64)])
        right = np.concatenate([s[1:] for s in sequences] or [np.zeros(0, np.int64)])
        shape = (vocab_size, vocab_size)
        pairs = sparse.coo_array((np.ones(len(left)), (left, right)), shape=shape).tocsr()
        pairs.sum_duplicates()
        total = np.asarray(pairs.sum(axis=1)).ravel()
        causal = TokenNgramCausal(2, self.first_piece_id).fit_sequences(sequences, vocab_size)
        types = causal.factors[1] * np.diff(pairs.indptr)
        scale = np.where(total > 0, total + types, 1.0)
        self.probability = p
        self._fallback = np.where(total > 0, types / scale, 1.0)  # weight of P(w) behind a token
        # The seen part of P(column | row); its transpose lists what stood before a token.
        self._seen = (sparse.diags_array(1.0 / scale) @ pairs).tocsr()
        self._before = self._seen.T.tocsr()
        self._sum_unseen = float(p @ self._fallback)
        self._sum_after = self._seen @ self._fallback
        self._sum_before = self._before @ p
        return self

    def probabilities(self, left: np.ndarray, right: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return the probability of each token between two neighbours, shape (M,).

        Args:
            left, right: Ids of the neighbours; -1 where one says nothing.
        """
        p = self.probability
        has_left, has_right = left >= 0, right >= 0
        before, after = np.where(has_left, left, 0), np.where(has_right, right, 0)
        weight = np.where(has_left, self._fallback[before], 1.0)
        rows = sparse.diags_array(has_left.astype(float)) @ self._seen[before]
        columns = sparse.diags_array(has_right.astype(float)) @ self._before[after]
        from_left = weight * p[tokens] + _entries(rows, tokens)
        to_right = self._fallback[tokens] * p[after] + _entries(columns, tokens)
        # Σ over w of (weight P(w) + seen(left, w)) (fallback(w) P(right) + seen(w, right)).
        total = (
            weight * p[after] * self._sum_unseen
            + p[after] * np.where(has_left, self._sum_after[before], 0.0)
            + weight * self._sum_before[after]
            + np.asarray(rows.multiply(columns).sum(axis=1)).ravel()
        )
        return np.where(
            has_right, from_left * to_right / np.where(has_right, total, 1.0), from_left
        )

    def neighbours(self, token_ids: np.ndarray, positions: np.ndarray, mask_id: int):
        """Return what an example shows left and right of its positions, -1 where it is nothing.

        Args:
            token_ids: What the model sees, shape (T,), special tokens included.
        """
        shown = np.where((token_ids >= self.first_piece_id) & (token_ids != mask_id), token_ids, -1)
        padded = np.concatenate(([-1], shown, [-1]))
        return padded[positions], padded[positions + 2]


def _entries(rows: sparse.csr_array, columns: np.ndarray) -> np.ndarray:
    """Return one entry of each row of a sparse matrix."""
    count = len(columns)
    picked = sparse.csr_array(
        (np.ones(count), columns, np.arange(count + 1)), shape=(count, rows.shape[1])
    )
    return np.asarray(rows.multiply(picked).sum(axis=1)).ravel()
