"""Task 1 of the paper (Appendix C): for each of n unit vectors, which of them is furthest away?

One layer of full attention with one head answers it exactly; for sparse attention the paper proves
a lower bound on the layers under the Orthogonal Vectors Conjecture, which can only be illustrated.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

# N vectors, D dimensions, E = 2 D

DTYPES: dict[Callable, type] = {Fraction: object, int: np.int64, float: np.float64}
"""Type of the array of each type of numbers; the first two are exact."""


def dimensions(num_vectors: int) -> int:
    """Return ⌈log₂² n⌉, the dimension of the task.

    Example:
        >>> dimensions(8), dimensions(64), dimensions(256)
        (9, 36, 64)
    """
    return int(np.ceil(np.log2(num_vectors) ** 2))


def whole_unit_vectors(num_vectors: int, num_dims: int, seed: int) -> tuple[np.ndarray, int]:
    """Draw whole vectors (N, D) that all have the same whole length, and return it: fast and exact.

    Example:
        >>> vectors, length = whole_unit_vectors(3, 9, seed=0)
        >>> bool(((vectors**2).sum(axis=1) == length**2).all())
        True
    """
    # Each is a random order of the same coordinates with random signs; the last four of them
    # complete the sum of squares to a square (Lagrange).
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 10, num_dims - 4)
    square = int((base**2).sum())
    length = int(np.ceil(np.sqrt(square))) + 1
    four = next(
        (a, b, c, e)
        for a, b, c in itertools.product(range(length), repeat=3)
        if (left := length**2 - square - a * a - b * b - c * c) >= 0
        for e in [math.isqrt(left)]
        if e * e == left
    )
    coordinates = np.array([*base.tolist(), *four], dtype=np.int64)
    signs = rng.choice([-1, 1], (num_vectors, num_dims))
    orders = np.stack([rng.permutation(num_dims) for _ in range(num_vectors)])
    return coordinates[orders] * signs, length


@dataclass(frozen=True)
class HardmaxLayer:
    """One layer of one head: x + V hardmax(K Q x), no feed-forward layer; width 2 D."""

    query: np.ndarray
    """(2 D, D); as the two others, applied to rows."""
    key: np.ndarray
    value: np.ndarray
    """(2 D, 2 D)."""

    def __call__(self, x_NE: np.ndarray, edges_NN: np.ndarray | None = None) -> np.ndarray:
        """Return the output (N, 2 D) over the edges, all if None; the first of equal scores wins."""
        scores_NN = (x_NE @ self.query) @ (x_NE @ self.key).T
        values_NE = x_NE @ self.value
        return x_NE + values_NE[best_keys(scores_NN, edges_NN)]


def best_keys(scores_NN: np.ndarray, edges_NN: np.ndarray | None = None) -> np.ndarray:
    """Return the key with the largest score among those that each query reads: (N,)."""
    if edges_NN is None:
        return scores_NN.argmax(axis=1)
    lowest = scores_NN.min() - 1
    return np.where(edges_NN, scores_NN, lowest).argmax(axis=1)


def furthest_layer(num_dims: int, number: Callable = Fraction) -> HardmaxLayer:
    """Return the paper's layer, x = [u; 0] to [u; furthest]: Q = -u, K = u, V = [0; u]."""
    zero, unit = number(0), number(1)
    dtype = DTYPES[number]
    query, key = (np.full((2 * num_dims, num_dims), zero, dtype=dtype) for _ in range(2))
    value = np.full((2 * num_dims, 2 * num_dims), zero, dtype=dtype)
    for i in range(num_dims):
        query[i, i], key[i, i], value[i, num_dims + i] = -unit, unit, unit
    return HardmaxLayer(query, key, value)


def furthest_by_attention(vectors_ND: np.ndarray, edges_NN: np.ndarray | None = None) -> np.ndarray:
    """Return the vector that the layer finds for each vector: (N, D)."""
    num_dims = vectors_ND.shape[1]
    number = next(number for number, dtype in DTYPES.items() if vectors_ND.dtype == dtype)
    nothing = np.full_like(vectors_ND, number(0))
    x_NE = np.concatenate([vectors_ND, nothing], axis=1)
    return furthest_layer(num_dims, number)(x_NE, edges_NN)[:, num_dims:]


def share_right(num_vectors: int, num_dims: int, share_of_edges: float, seed: int) -> float:
    """Return how often a layer with random edges gives the furthest vector: about their share."""
    rng = np.random.default_rng(seed)
    vectors_ND = rng.standard_normal((num_vectors, num_dims))
    vectors_ND /= np.linalg.norm(vectors_ND, axis=1, keepdims=True)
    edges_NN = rng.random((num_vectors, num_vectors)) < share_of_edges
    np.fill_diagonal(edges_NN, True)
    expected = (vectors_ND @ vectors_ND.T).argmin(axis=1)
    answer_ND = furthest_by_attention(vectors_ND, edges_NN)
    return float((answer_ND == vectors_ND[expected]).all(axis=1).mean())


def zeros_and_ones(num_vectors: int, num_dims: int, seed: int) -> np.ndarray:
    """Draw vectors of 0 and 1, about one pair of them orthogonal: (N, D) int64."""
    # Two are orthogonal with probability (1 - p²)^d, where p is the share of ones: 2 / n² here.
    share_of_ones = (1 - (2 / num_vectors**2) ** (1 / num_dims)) ** 0.5
    drawn_ND = np.random.default_rng(seed).random((num_vectors, num_dims)) < share_of_ones
    return drawn_ND.astype(np.int64)


def orthogonal_pair(vectors_ND: np.ndarray) -> tuple[int, int] | None:
    """Return two orthogonal vectors of 0 and 1, if there are any, through the task."""
    # The reduction: one layer gives each vector the one with the smallest inner product; one of
    # these n products is 0 if there is a pair. They are whole numbers, so nothing rounds.
    # (Dividing by the lengths would change which is smallest, not whether it is 0.)
    whole_ND = np.asarray(vectors_ND, dtype=np.int64)
    answer_ND = furthest_by_attention(whole_ND)
    products_N = (whole_ND * answer_ND).sum(axis=1)
    if products_N.all():
        return None
    first = int(products_N.argmin())
    second = int((whole_ND == answer_ND[first]).all(axis=1).argmax())
    return first, second
