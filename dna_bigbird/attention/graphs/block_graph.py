"""A graph whose vertices are blocks of equal tokens, directed as attention reads."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

# N blocks; rows are queries, columns are keys


@dataclass(frozen=True, eq=False)
class BlockGraph:
    """Which blocks read which; every token of a block reads every token of the blocks it reads."""

    # With `tokens_per_block` 1 the vertices are blocks, or tokens if the adjacency is of tokens.

    name: str
    reads: sparse.csr_array
    """(N, N) bool: block i reads block j."""
    tokens_per_block: int = 1

    @property
    def num_blocks(self) -> int:
        """Vertices of the adjacency."""
        return self.reads.shape[0]

    @property
    def num_vertices(self) -> int:
        """Vertices of the graph: tokens, or blocks if one token is one block."""
        return self.num_blocks * self.tokens_per_block

    @cached_property
    def both_ways(self) -> sparse.csr_array:
        """(N, N) float64: 1 where i reads j or j reads i; i = j: its tokens read each other."""
        joined = (self.reads + self.reads.T).astype(bool).astype(np.float64).tocsr()
        if self.tokens_per_block == 1:
            joined = (joined - sparse.diags_array(joined.diagonal())).tocsr()
            joined.eliminate_zeros()
        return joined

    @cached_property
    def inside(self) -> np.ndarray:
        """(N,) 1 where the tokens of a block read each other, else 0."""
        return self.both_ways.diagonal()

    @cached_property
    def degrees(self) -> np.ndarray:
        """(N,) neighbours of one vertex of each block, itself not counted."""
        return self.tokens_per_block * self.both_ways.sum(axis=1) - self.inside

    @property
    def num_edges(self) -> int:
        """Undirected edges between two vertices."""
        return round(self.tokens_per_block * self.degrees.sum() / 2)

    @cached_property
    def hubs(self) -> np.ndarray:
        """(N,) bool: blocks whose vertices are joined with every other vertex."""
        return self.degrees == self.num_vertices - 1

    def without(self, blocks: np.ndarray) -> "BlockGraph":
        """Return the graph without some blocks, given as (N,) bool."""
        kept = np.flatnonzero(~blocks)
        return BlockGraph(self.name, self.reads[kept][:, kept], self.tokens_per_block)


# --- Distances: how many edges, and how many layers, separate two tokens ---

# N blocks, S sources

EXACT_UP_TO = 4096
"""Vertices of an adjacency up to which every source is searched."""


class Paths(NamedTuple):
    """Of the undirected graph."""

    mean: float
    """Edges of the shortest path between two vertices, over all pairs that are joined."""
    diameter: int
    """The largest; of the sources only, if those are sampled."""
    disconnected: float
    """Share of pairs that no path joins."""
    sources: int
    """Blocks from which paths were searched; all of them unless the graph is large."""


def paths(graph: BlockGraph, most_sources: int = 256, seed: int = 0) -> Paths:
    """Measure shortest paths, from every block or from `most_sources` random blocks."""
    # A vertex that is joined with all makes every distance 1 or 2, which is counted exactly.
    n, b = graph.num_vertices, graph.tokens_per_block
    if graph.hubs.any():
        share = 2 * graph.num_edges / (n * (n - 1))
        return Paths(2 - share, 1 if share == 1 else 2, 0.0, graph.num_blocks)
    sources = np.arange(graph.num_blocks)
    if graph.num_blocks > EXACT_UP_TO:
        sources = np.random.default_rng(seed).choice(graph.num_blocks, most_sources, replace=False)
    total, longest, joined = 0.0, 0, 0
    for part in np.array_split(sources, max(1, len(sources) * graph.num_blocks // 2**22)):
        lengths_SN = csgraph.shortest_path(graph.both_ways, unweighted=True, indices=part)
        has_neighbour = graph.degrees[part] > 0
        # To the other tokens of the same block: one step, two via a neighbour, or none.
        own = np.where(graph.inside[part] > 0, 1.0, np.where(has_neighbour, 2.0, np.inf))
        lengths_SN[np.arange(len(part)), part] = own
        times_SN = np.full(lengths_SN.shape, b)
        times_SN[np.arange(len(part)), part] = b - 1
        is_joined = np.isfinite(lengths_SN) & (times_SN > 0)
        total += float((np.where(is_joined, lengths_SN, 0) * times_SN).sum())
        joined += int((is_joined * times_SN).sum())
        longest = max(longest, int(lengths_SN[is_joined].max(initial=0)))
    pairs = len(sources) * (n - 1)
    mean = total / joined if joined else float("nan")
    return Paths(mean, longest, 1 - joined / pairs, len(sources))


def layers_to_reach_all(graph: BlockGraph, most: int = 128) -> int | None:
    """Return after how many layers each token depends on each token; None if never, or too many."""
    # Directed: a layer carries from a key to the queries that read it. A query always keeps its own
    # state (the residual connection).
    n = graph.num_blocks
    one_layer = (graph.reads + sparse.eye_array(n, dtype=bool)).astype(np.float32).tocsr()
    # A token keeps its own state, but the other tokens of its block must be read.
    reached = (one_layer if graph.tokens_per_block == 1 else graph.reads).astype(bool)
    reads_all, is_read_by_all = (reached.sum(axis=axis) == n for axis in (1, 0))
    if reads_all.all():
        return 1
    if (reads_all & is_read_by_all).any():
        return 2
    if n > EXACT_UP_TO:
        return None
    dense = reached.toarray()
    for layers in range(1, most + 1):
        if dense.all():
            return layers
        grown = (one_layer @ dense.astype(np.float32)) > 0
        if (grown == dense).all():
            return None
        dense = grown
    return None
