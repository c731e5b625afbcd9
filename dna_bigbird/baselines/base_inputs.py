"""What the mixtures over single bases share: counts as inputs, sequences joined to one, costs."""

from collections.abc import Iterable, Iterator

import numpy as np

from dna_bigbird.baselines.base_kmers import UNKNOWN
from dna_bigbird.baselines.ngram import Score

# B bases of a block, K experts, 4 bases

BUCKETS = 96
"""Levels of confidence of an expert; each has its own weight."""
# Weight of an expert before it has learned. Many experts add up to one score, so each begins well below 1.
_START = 0.15
# Rates of AdaGrad: a weight moves by at most about its rate in its first block, then less and less. Weights of
# sets multiply those of levels; they begin at 1 and move slower, so that the levels, with more data, lead.
_RATE, _SET_RATE = 0.05, 0.02
# Sums of squared slopes at the start: they damp the first steps, when one block is all that is known.
_WARMTH, _SET_WARMTH = 1e-2, 1e-1


class OnlineMixture:
    """P(b) ∝ exp Σ over k of w(k, bucket) v(set, k) x(k, b), both weights by online gradient (AdaGrad).

    The weights change after each block, so a prediction depends on earlier blocks only.

    Args:
        experts: K.
        sets: How many sets of the weights v there are; one of them is chosen for each base.
    """

    def __init__(self, experts: int, sets: int) -> None:
        self._first = np.arange(experts) * BUCKETS
        self.weights = np.full(experts * BUCKETS, _START, np.float32)
        self._squares = np.full(experts * BUCKETS, _WARMTH, np.float32)
        self.set_weights = np.ones((sets, experts), np.float32)
        self._set_squares = np.full((sets, experts), _SET_WARMTH, np.float32)

    def predict(self, inputs: np.ndarray, buckets: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return the probabilities of some bases, shape (B, 4); see `predict_and_learn`."""
        weight = self.weights[buckets + self._first] * self.set_weights[chosen]
        score = np.einsum("bk,bkc->bc", weight, inputs)
        p = np.exp(score - score.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def predict_and_learn(
        self, inputs: np.ndarray, buckets: np.ndarray, chosen: np.ndarray, bases: np.ndarray
    ) -> np.ndarray:
        """Return the probabilities of a block, shape (B, 4), then learn from its true bases.

        Args:
            inputs: x, centred log-probabilities, (B, K, 4).
            buckets: (B, K), below `BUCKETS`.
            chosen: (B,) the set.
            bases: (B,) true ones.
        """
        cells = buckets + self._first
        weight, factor = self.weights[cells], self.set_weights[chosen]
        p = self.predict(inputs, buckets, chosen)
        error = -p
        error[np.arange(len(bases)), bases] += 1
        slope = np.einsum("bkc,bc->bk", inputs, error)
        step = np.bincount(cells.ravel(), (slope * factor).ravel(), minlength=len(self.weights))
        self._squares += step * step
        self.weights += _RATE * step / np.sqrt(self._squares)
        set_step = np.zeros_like(self.set_weights)
        np.add.at(set_step, chosen, slope * weight)
        self._set_squares += set_step * set_step
        self.set_weights += _SET_RATE * set_step / np.sqrt(self._set_squares)
        return p


# C bases that are predicted

_PSEUDO = ((8, 1.0), (10, 0.5), (11, 0.3), (12, 0.2), (13, 0.15), (14, 0.1), (99, 0.06))
"""Pseudo-count of every base, by the longest order that it is for."""


def pseudo_count(order: int) -> float:
    """Return what is added to the count of every base in contexts of `order` bases."""
    return next(value for longest, value in _PSEUDO if order <= longest)


def count_inputs(counts: np.ndarray, pseudo: float) -> tuple[np.ndarray, np.ndarray]:
    """Return centred log-probabilities of bases counted in a context, and the level of confidence.

    The level combines how often the context occurred with the share of its most frequent base.

    Args:
        counts: (C, 4).

    Returns:
        (C, 4) float32, and (C,) below `BUCKETS`.
    """
    total = counts.sum(axis=1)
    log_p = np.log((counts + pseudo).astype(np.float32))
    log_p -= log_p.mean(axis=1, keepdims=True)
    share = counts.max(axis=1) / np.maximum(total, 1)
    certainty = np.clip((share - 0.25) / 0.75 * 4, 0, 3).astype(np.int64)
    seen = np.ceil(2 * np.log2(total + 1.0)).astype(np.int64)
    return log_p, np.minimum(seen, BUCKETS // 4 - 1) * 4 + certainty


def true_nats(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the nats of the true bases, (C, 4) and (C,) to (C,); NaN where the base is unknown."""
    of_base = probabilities[np.arange(len(codes)), np.minimum(codes, UNKNOWN - 1)]
    return np.where(codes < UNKNOWN, -np.log(of_base), np.nan)


def document_score(nlls: Iterable[np.ndarray]) -> Score:
    """Return the sums of the nats of each document, without unknown bases; NaN stands for those."""
    counts = ((np.nansum(nll), int(np.isfinite(nll).sum())) for nll in nlls)
    return Score.of((nats, count, count) for nats, count in counts if count)


def slices(length: int, step: int) -> Iterator[slice]:
    """Cut a length into slices of `step`; the last may be shorter."""
    return (slice(start, start + step) for start in range(0, length, step))


def join(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Join sequences, with an unknown base after each."""
    gap = np.full(1, UNKNOWN, np.int8)
    return np.concatenate([np.empty(0, np.int8), *(p for part in parts for p in (part, gap))])


FEWEST_PIECES = 10
"""Pieces of training sequence, at least: some of them are set aside."""


def pieces(sequences: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Return the sequences; few ones are cut, so that a part of a single chromosome can be set aside."""
    codes = list(sequences)
    if len(codes) >= FEWEST_PIECES:
        return codes
    size = max(1, -(-sum(map(len, codes)) // FEWEST_PIECES))
    return [c[part] for c in codes for part in slices(len(c), size)]


def spread(lengths: list[int], most: int) -> list[int]:
    """Return which of some sequences hold about `most` bases, evenly spaced; one to a tenth of them.

    Example:
        >>> spread([100] * 40, 200), spread([1000] * 10, 200)
        ([9, 29], [4])
    """
    total = sum(lengths)
    if not total:
        return []
    number = min(len(lengths) // 10, max(1, round(len(lengths) * most / total)))
    return [round((i + 0.5) * len(lengths) / number) - 1 for i in range(number)]
