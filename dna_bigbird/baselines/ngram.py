"""Count-based language models over tokens: what a pretrained model has to beat.

A causal model predicts each token from those before it; a masked one predicts hidden tokens from
both sides (`baselines.ngram`; over bases: `baselines.base_ngram`). Their scores answer
different questions and are named apart. All of them count every base of the genome once
(`covering_documents`), though a corpus of ten passes holds it ten times: repeats would make rare
contexts look certain.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from dna_bigbird.baselines.ngram_table import GramTable, gram_keys
from dna_bigbird.corpus.token_store import Store, covering_documents, covering_tokens


class Score(NamedTuple):
    """Negative log-likelihood in nats, base pairs and number of the predictions of each document.

    All of shape (documents,): intervals are drawn over whole documents.
    """

    nll_nats: np.ndarray
    base_pairs: np.ndarray
    predictions: np.ndarray

    @classmethod
    def of(cls, documents: Iterable[tuple[float, int, int]]) -> "Score":
        """Join the sums of some documents."""
        nats, base_pairs, predictions = zip(*documents, strict=True)
        return cls(np.array(nats), np.array(base_pairs), np.array(predictions))

    @property
    def bits_per_base(self) -> float:
        """The definition of `metrics.language.bits_per_base`, over all documents."""
        return float(self.nll_nats.sum() / (math.log(2) * self.base_pairs.sum()))


class TokenUnigram:
    """Token frequencies with `add` pseudo-counts on every ordinary token; ignores all context.

    Usable on both masked and causal predictions. Special ids have probability 0.

    Attributes:
        probability: Shape (vocab_size,).
    """

    def __init__(self, add: float = 1.0, first_piece_id: int = 5) -> None:
        self.add = add
        self.first_piece_id = first_piece_id

    def fit(self, store: Store, max_documents: int | None = None) -> "TokenUnigram":
        """Count the tokens of a store; memory is that of the chosen documents."""
        return self.fit_sequences(covering_tokens(store, max_documents), store.vocab_size)

    def fit_sequences(self, sequences: Iterable[np.ndarray], vocab_size: int) -> "TokenUnigram":
        """Count the tokens of some sequences of ids."""
        counts = np.zeros(vocab_size)
        for sequence in sequences:
            counts += np.bincount(sequence, minlength=vocab_size)
        return self.fit_counts(counts)

    def fit_counts(self, counts: np.ndarray) -> "TokenUnigram":
        """Take how often each entry occurs, shape (vocab_size,)."""
        counts = counts + np.where(np.arange(len(counts)) >= self.first_piece_id, self.add, 0.0)
        counts[: self.first_piece_id] = 0
        self.probability = counts / counts.sum()
        return self

    def nll(self, labels: np.ndarray) -> np.ndarray:
        """Return the negative log-likelihood in nats of each label, shape as `labels`."""
        return -np.log(self.probability[labels])

    def score(self, labels: np.ndarray, piece_bp: np.ndarray) -> Score:
        """Score masked or causal labels; `piece_bp` is the tokenizer's."""
        return Score.of([(self.nll(labels).sum(), piece_bp[labels].sum(), len(labels))])


def posterior_nll(
    labels: np.ndarray,
    seen: np.ndarray,
    p_label: np.ndarray,
    p_seen: np.ndarray,
    *,
    mask_id: int,
    num_pieces: int,
    mask_share: float,
    random_share: float,
) -> np.ndarray:
    """Return the nats of masked labels if the predictor also knows how tokens were hidden.

    A model is asked about a position that does not show [MASK]: there the token shown is the true
    one or a random one. Bayes' rule with the two shares says how much to trust it. Without this a
    baseline ignores what every masked model can read off its input.

    Args:
        labels, seen: True ids and ids the model sees at the predicted positions, shape (M,).
        p_label, p_seen: The predictor's probability of those ids from context, shape (M,).
        num_pieces: Ordinary tokens a random replacement is drawn from.

    Raises:
        ValueError: If a token is shown although the shares say that all show [MASK].
    """
    hidden = seen == mask_id
    keep_share = max(0.0, 1.0 - mask_share - random_share)
    kept = keep_share * p_seen
    at_random = random_share / num_pieces
    if (~hidden & (kept + at_random <= 0)).any():
        raise ValueError("a token is shown where the shares of masking say that all are hidden")
    shown = (kept * (labels == seen) + at_random * p_label) / np.where(
        hidden, 1.0, kept + at_random
    )
    with np.errstate(divide="ignore"):
        return -np.log(np.where(hidden, p_label, shown))


def posterior_choice(
    seen: np.ndarray,
    p: np.ndarray,
    *,
    mask_id: int,
    num_pieces: int,
    mask_share: float,
    random_share: float,
) -> np.ndarray:
    """Return the most probable label by the rule of `posterior_nll`, for a predictor without context.

    Args:
        seen: Ids the model sees at the predicted positions, shape (M,).
        p: Probability of every id, shape (V,).
    """
    keep_share = max(0.0, 1.0 - mask_share - random_share)
    at_random = random_share / num_pieces
    most_frequent = p.argmax()
    is_trusted = (keep_share + at_random) * p[seen] >= at_random * p[most_frequent]
    return np.where((seen != mask_id) & is_trusted, seen, most_frequent)


FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 512.0)
"""Factors tried on the number of types in Witten-Bell smoothing."""
HOLD_OUT_EVERY = 10
"""Documents 2, 12, 22 … choose the factors, before they are counted like the others."""
MOST_HELD_OUT = 200
"""Documents that choose the factors at most; of more, fewer than every tenth, evenly spaced."""


def hold_out_every(documents: int, most: int) -> int:
    """Return which documents choose the factors: number 1 (from 0) and every so many after it.

    Example:
        >>> hold_out_every(150, most=40), hold_out_every(400, most=40), hold_out_every(4000, most=40)
        (10, 10, 100)
    """
    return max(HOLD_OUT_EVERY, -(-documents // most))


def smooth(
    seen: np.ndarray, total: np.ndarray, types: np.ndarray, shorter: np.ndarray, factor: float
) -> np.ndarray:
    """Return interpolated Witten-Bell probabilities, with a factor on the number of types.

    P(w | h) = (c(h w) + f t(h) P(w | shorter h)) / (c(h) + f t(h)), where t(h) is the number of
    different continuations of h; f = 1 is the published formula. A context h never seen falls
    through to the shorter one.

    Args:
        seen, total, types: c(h w), c(h) and t(h) of each prediction, shape (M,).
        shorter: P(w | shorter h), shape (M,).
    """
    weight = factor * types
    mixed = (seen + weight * shorter) / np.where(total > 0, total + weight, 1.0)
    return np.where(total > 0, mixed, shorter)


def best_factor(
    seen: np.ndarray, total: np.ndarray, types: np.ndarray, shorter: np.ndarray
) -> float:
    """Return the one of `FACTORS` that predicts held-out text best."""
    costs = [-np.log(smooth(seen, total, types, shorter, factor)).sum() for factor in FACTORS]
    return FACTORS[int(np.argmin(costs))]


class TokenNgramCausal:
    """Token n-gram with interpolated Witten-Bell smoothing (see `smooth`).

    Below the single token lies a uniform guess among ordinary tokens. Context crosses sentences,
    not documents. The factor of each order is chosen, from the lowest up, on every tenth training
    document (see `HOLD_OUT_EVERY`, `MOST_HELD_OUT`); with a single document it is 1.

    Args:
        order: Tokens in the longest n-gram; 1 is a unigram, at most 4 (keys are 64 bits).
        factors: One an order, to fix them.
    """

    def __init__(
        self, order: int = 3, first_piece_id: int = 5, factors: Sequence[float] | None = None
    ) -> None:
        if not 1 <= order <= 4:
            raise ValueError(f"order {order} must be 1 to 4")
        self.order = order
        self.first_piece_id = first_piece_id
        self._fixed = factors
        self.factors = list(factors or [1.0] * order)

    def fit(self, store: Store, max_documents: int | None = None) -> "TokenNgramCausal":
        """Count the tokens of a store; for the memory see `GramTable`."""
        return self.fit_sequences(covering_tokens(store, max_documents), store.vocab_size)

    def fit_sequences(self, sequences: Sequence[np.ndarray], vocab_size: int) -> "TokenNgramCausal":
        """Count the n-grams of some sequences of ordinary token ids."""
        self.vocab_size = vocab_size
        every = hold_out_every(len(sequences), MOST_HELD_OUT)
        held_out = sequences[1::every]
        if self._fixed is None and held_out:
            self._count([s for i, s in enumerate(sequences) if i % every != 1])
            self._choose(held_out)
        self._count(sequences)
        return self

    def _count(self, sequences: Sequence[np.ndarray]) -> None:
        self.tables: list[GramTable] = []
        for order in range(1, self.order + 1):
            self.tables.append(GramTable.count(sequences, order, self.vocab_size))

    def _choose(self, held_out: Sequence[np.ndarray]) -> None:
        shorter = [self._uniform(sequence) for sequence in held_out]
        for order in range(1, self.order + 1):
            looked_up = [self._look_up(sequence, order) for sequence in held_out]
            columns = [np.concatenate(column) for column in zip(*looked_up, strict=True)]
            tails = np.concatenate([p[order - 1 :] for p in shorter])
            self.factors[order - 1] = best_factor(*columns, tails)
            for p, statistics in zip(shorter, looked_up, strict=True):
                p[order - 1 :] = smooth(*statistics, p[order - 1 :], self.factors[order - 1])

    def _uniform(self, sequence: np.ndarray) -> np.ndarray:
        return np.full(len(sequence), 1.0 / (self.vocab_size - self.first_piece_id))

    def _look_up(
        self, sequence: np.ndarray, order: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return c(h w), c(h) and t(h) of every n-gram of a sequence."""
        keys = gram_keys(sequence, order, self.vocab_size)
        return self.tables[order - 1].look_up(keys, self.vocab_size)

    def nll(self, sequence: np.ndarray) -> np.ndarray:
        """Return the nats of each token of one sequence given those before it, shape (T,)."""
        p = self._uniform(sequence)
        for order, factor in enumerate(self.factors, start=1):
            p[order - 1 :] = smooth(*self._look_up(sequence, order), p[order - 1 :], factor)
        return -np.log(p)

    def score(self, store: Store, piece_bp: np.ndarray, max_documents: int | None = None) -> Score:
        """Score every token of the `covering_documents` of a held-out store."""
        documents = map(store.document, covering_documents(store, max_documents))
        return Score.of((self.nll(ids).sum(), piece_bp[ids].sum(), len(ids)) for ids in documents)


# --- Count-based predictor of hidden tokens from the token on either side ---


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
