"""Eigenvalues of a graph: how fast a random walk, and so attention, mixes."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

from dna_bigbird.attention.graphs.block_graph import BlockGraph

# N blocks

DENSE_UP_TO = 1100
"""Blocks up to which all eigenvalues are computed; else a sparse solver finds the few needed."""
TOLERANCE = 1e-4
"""Relative residual of the sparse solver. A band has many nearly equal eigenvalues, which would take
it long to separate, and whose differences are below what a table shows."""
SHIFTED_UP_TO = 3_000_000
"""Entries of a Laplacian up to which its smallest eigenvalues are searched."""


class Spectrum(NamedTuple):
    """Of the undirected graph."""

    first: float
    """Largest eigenvalue of the adjacency matrix in absolute value, λ₁."""
    second: float
    """Second largest in absolute value, |λ₂|."""
    walk_gap: float
    """1 - |second largest eigenvalue| of the random walk D^{-1/2} A D^{-1/2}; 0 if disconnected."""
    connectivity: float | None
    """Second smallest eigenvalue of the Laplacian D - A; None if it was too large to search."""


def spectrum(graph: BlockGraph) -> Spectrum:
    """Compute the eigenvalues.

    The tokens of a block are twins. So an eigenvector is either constant on every block, and an
    eigenvector of a matrix of blocks, or it sums to 0 within one block: then its eigenvalue is
    -1 where the tokens of the block read each other, else 0 (over the degree, for the walk).
    """
    b = graph.tokens_per_block
    adjacency = graph.both_ways * b - sparse.diags_array(graph.inside)
    degrees = graph.degrees
    roots = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    scale = sparse.diags_array(roots)
    first, second = _two_largest(adjacency, -graph.inside, b)
    walk = _two_largest(scale @ adjacency @ scale, -graph.inside * roots**2, b)
    return Spectrum(first, second, 1 - walk[1], _connectivity(graph))


def _two_largest(matrix: sparse.sparray, within: np.ndarray, tokens: int) -> tuple[float, float]:
    """Return the two largest absolute values of the blocks' matrix and of vectors within blocks."""
    n = matrix.shape[0]
    if n <= DENSE_UP_TO:
        values = linalg.eigvalsh(matrix.toarray())
    else:
        start = np.random.default_rng(0).standard_normal(n)
        values = eigsh(matrix, k=2, which="LM", v0=start, tol=TOLERANCE, return_eigenvectors=False)
    inner = np.repeat(within, min(tokens - 1, 2))  # the two largest are enough
    sizes = np.sort(np.abs(np.concatenate([values, inner, [0.0, 0.0]])))
    return float(sizes[-1]), float(sizes[-2])


def _connectivity(graph: BlockGraph) -> float | None:
    """Return the second smallest eigenvalue of the Laplacian.

    With h vertices that are joined with all, it is h plus that of the graph without them; if nothing
    remains, the number of vertices.
    """
    b = graph.tokens_per_block
    num_hubs = int(graph.hubs.sum()) * b
    if num_hubs == graph.num_vertices:
        return float(graph.num_vertices) if graph.num_vertices > 1 else 0.0
    rest = graph.without(graph.hubs) if num_hubs else graph
    if rest.num_vertices == 1:
        return float(graph.num_vertices)
    diagonal = sparse.diags_array(rest.degrees + rest.inside)
    laplacian = (diagonal - rest.both_ways * b).tocsc()
    values = _smallest(laplacian)
    if values is None:
        return None
    # Within a block: the degree, plus 1 where its tokens read each other.
    inner = rest.degrees + rest.inside if b > 1 else np.empty(0)
    smallest = np.sort(np.concatenate([values, inner]))
    return num_hubs + max(0.0, float(smallest[1]))


def _smallest(laplacian: sparse.csc_array) -> np.ndarray | None:
    """Return the smallest eigenvalues, at least two if there are so many."""
    n = laplacian.shape[0]
    if n <= DENSE_UP_TO:
        return linalg.eigvalsh(laplacian.toarray())
    if laplacian.nnz > SHIFTED_UP_TO:
        return None
    start = np.random.default_rng(0).standard_normal(n)
    return eigsh(laplacian, k=3, sigma=-1e-4, which="LM", v0=start, return_eigenvectors=False)
