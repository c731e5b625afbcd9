"""Weights of experts that predict one of four bases, learned while they predict."""

import numpy as np

# B bases of a block, K experts, 4 bases

BUCKETS = 96
"""Levels of confidence of an expert; each has its own weight."""
_START = 0.15
_RATE, _SET_RATE = 0.05, 0.02
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
