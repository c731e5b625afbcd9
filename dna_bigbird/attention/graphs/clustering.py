"""Clustering: how often two neighbours are neighbours of each other."""

from typing import NamedTuple

import numpy as np

from dna_bigbird.attention.graphs.block_graph import BlockGraph

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
    """Count triangles.

    Hubs are counted exactly: the neighbours of a vertex that is joined with all have every edge that
    does not end in it, and a hub closes every pair that it is in. The other triangles are counted at
    every vertex, or at `sample` of them drawn without repetition if the adjacency without hubs has
    more than EXACT_UP_TO entries.
    """
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
