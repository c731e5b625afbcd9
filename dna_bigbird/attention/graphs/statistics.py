"""All statistics of a graph in one row."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import eigsh

from dna_bigbird.attention.graphs.block_graph import BlockGraph, Paths, layers_to_reach_all, paths

# N blocks

EXACT_UP_TO = 2**20
"""Entries of an adjacency up to which every vertex is counted."""


class Clustering(NamedTuple):
    """Of the undirected graph."""

    local: float
    """Mean over vertices of the share of pairs of neighbours that are joined; 0 below 2 neighbours."""
    transitivity: float
    """The same share over all pairs of neighbours in the graph."""
    vertices: int
    """Blocks whose neighbours were counted."""


def clustering(graph: BlockGraph, sample: int = 512, seed: int = 0) -> Clustering:
    """Count triangles; above EXACT_UP_TO entries without hubs at `sample` random vertices only."""
    # Hubs are counted exactly: the neighbours of a vertex that is joined with all have every edge that
    # does not end in it, and a hub closes every pair that it is in.
    n, degrees, is_hub = graph.num_vertices, graph.degrees, graph.hubs
    others, rest = np.flatnonzero(~is_hub), graph.without(is_hub)
    rows = np.arange(len(others))
    if rest.both_ways.nnz > EXACT_UP_TO and len(rows) > sample:
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), sample, replace=False))
    closed = np.zeros(graph.num_blocks)  # ordered pairs of neighbours that are joined
    closed[is_hub] = 2 * (graph.num_edges - (n - 1))
    num_hubs = int(is_hub.sum()) * graph.tokens_per_block
    for part in np.array_split(rows, max(1, len(rows) * len(others) // 2**24)):
        with_hubs = num_hubs * (2 * rest.degrees[part] + num_hubs - 1)
        closed[others[part]] = _closed_pairs(rest, part) + with_hubs
    pairs = degrees * (degrees - 1)
    share = np.divide(closed, pairs, out=np.zeros_like(closed), where=pairs > 0)
    weight = np.zeros(graph.num_blocks)
    weight[is_hub] = 1
    weight[others[rows]] = len(others) / max(1, len(rows))
    total = float((pairs * weight).sum())
    return Clustering(
        float((share * weight).sum() / graph.num_blocks),
        float((closed * weight).sum() / total) if total else 0.0,
        len(rows) + int(is_hub.sum()),
    )


def _closed_pairs(graph: BlockGraph, rows: np.ndarray) -> np.ndarray:
    """Return ordered pairs of neighbours that are joined, for one vertex of each block."""
    adjacency = graph.both_ways
    # How many neighbours a vertex of block i has in block j: b, in its own block b - 1.
    counts = (adjacency[rows] * graph.tokens_per_block).tolil()
    for position, row in enumerate(rows):
        if graph.inside[row]:
            counts[position, row] = graph.tokens_per_block - 1
    counts = counts.tocsr()
    joined = (counts @ adjacency).multiply(counts).sum(axis=1)
    return np.asarray(joined).ravel() - counts @ graph.inside


# --- Eigenvalues of a graph: how fast a random walk, and so attention, mixes ---

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
    """Compute the eigenvalues."""
    # The tokens of a block are twins. So an eigenvector is either constant on every block, and an
    # eigenvector of a matrix of blocks, or it sums to 0 within one block: then its eigenvalue is -1
    # where the tokens of the block read each other, else 0 (over the degree, for the walk).
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
    """Return the second smallest eigenvalue of the Laplacian."""
    # With h vertices that are joined with all, it is h plus that of the graph without them; if nothing
    # remains, the number of vertices.
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


@dataclass(frozen=True)
class Statistics:
    """One graph."""

    name: str
    vertices: int
    edges: int
    paths: Paths
    clustering: Clustering
    spectrum: Spectrum
    layers: int | None
    """Layers after which every vertex depends on every other one; None if never, or not counted."""
    is_sampled: bool
    """True if paths or triangles were counted from a sample of vertices."""

    def row(self) -> dict[str, str]:
        """Return the numbers as text, by column."""
        connectivity = self.spectrum.connectivity
        return {
            "graph": self.name + ("*" if self.is_sampled else ""),
            "vertices": f"{self.vertices}",
            "edges": f"{self.edges}",
            "path": f"{self.paths.mean:.2f}",
            "diameter": f"{self.paths.diameter}",
            "disconnected": f"{self.paths.disconnected:.3f}",
            "clustering": f"{self.clustering.local:.3f}",
            "transitivity": f"{self.clustering.transitivity:.3f}",
            "lambda1": f"{self.spectrum.first:.1f}",
            "lambda2": f"{self.spectrum.second:.1f}",
            "walk_gap": f"{self.spectrum.walk_gap:.4f}",
            "connectivity": "-" if connectivity is None else f"{connectivity:.3g}",
            "layers": "-" if self.layers is None else f"{self.layers}",
        }


def statistics(graph: BlockGraph, seed: int = 0) -> Statistics:
    """Measure a graph; large ones from a sample of vertices, drawn with the seed."""
    distances, triangles = paths(graph, seed=seed), clustering(graph, seed=seed)
    return Statistics(
        graph.name,
        graph.num_vertices,
        graph.num_edges,
        distances,
        triangles,
        spectrum(graph),
        layers_to_reach_all(graph),
        min(distances.sources, triangles.vertices) < graph.num_blocks,
    )
