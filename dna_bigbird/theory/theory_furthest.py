"""`dna-bigbird theory furthest`: Task 1 of the paper (Appendix C).

One layer of full attention with one head answers it exactly; for sparse attention the paper proves
a lower bound on the layers under the Orthogonal Vectors Conjecture, which can only be illustrated.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from dna_bigbird.core.choices import checked
from dna_bigbird.core.limits import check_memory
from dna_bigbird.core.paths import OutputPath
from dna_bigbird.core.settings import Range
from dna_bigbird.core.tables import Table, check_suffix, write_figure
from dna_bigbird.theory.results import TheoryResult

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
        if edges_NN is not None:
            scores_NN = np.where(edges_NN, scores_NN, scores_NN.min() - 1)
        return x_NE + (x_NE @ self.value)[scores_NN.argmax(axis=1)]


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


BYTES = 2 * 8
"""Of each coordinate and each pair: two arrays of float64 or int64 at once."""
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


@checked()
def furthest(
    vectors: Annotated[int, Range(4)] = 256,
    dims: Annotated[int, Range(5)] | None = None,
    seed: int = 0,
    output: OutputPath | None = None,
) -> TheoryResult:
    """For each of n unit vectors, find the one that is furthest away (Appendix C, Task 1).

    One layer of full attention does it exactly, which is checked here with whole numbers. One
    layer with random edges is right about as often as it has the edge: an illustration of the
    lower bound for sparse attention, which is conditional and cannot be tested. With vectors of 0
    and 1 the same layer finds an orthogonal pair if there is one: the reduction of the proof.

    Examples:
        dna-bigbird theory furthest
        dna-bigbird theory furthest --vectors 64 --seed 1 --output furthest.png

    Args:
        vectors: Number of vectors, at least 4.
        dims: Dimensions, at least 5; the squared binary logarithm of the number of vectors, rounded
            up, if not given.
        seed: Seed of the random numbers: of vectors and edges.
        output: Result to write: share of right answers by share of edges; png, svg or pdf.
    """
    check_suffix(output)
    dims = dims or max(5, dimensions(vectors))
    numbers = vectors * vectors + vectors * dims
    check_memory(f"--vectors {vectors} --dims {dims}", numbers * BYTES)
    whole, length = whole_unit_vectors(vectors, dims, seed)
    answers = furthest_by_attention(whole)
    least_products = (whole @ whole.T).min(axis=1)
    right = int(((whole * answers).sum(axis=1) == least_products).sum())
    rows = [{"edges": share, "right": share_right(vectors, dims, share, seed)} for share in SHARES]
    drawn = zeros_and_ones(vectors, dims, seed)
    pair = orthogonal_pair(drawn)
    exists = bool((drawn @ drawn.T == 0).any())
    text = [
        f"{vectors} vectors of {dims} whole coordinates and length {length}, one layer, exact: "
        f"{right} of {vectors} right",
        "one layer with random edges (float64, an illustration):",
        Table(
            [{"edges": f"{row['edges']:.0%}", "right": f"{row['right']:.1%}"} for row in rows]
        ).to_text(),
        f"vectors of 0 and 1: orthogonal pair by one layer: {pair or 'none'}; "
        f"by all pairs: {'one exists' if exists else 'none exists'}",
    ]
    if output is not None:
        from dna_bigbird.theory.figures import furthest_figure

        write_figure(output, furthest_figure(rows, vectors, dims))
    return TheoryResult(output, rows, "\n".join(text))
