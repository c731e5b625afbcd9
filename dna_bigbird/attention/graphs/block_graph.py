"""A graph whose vertices are blocks of equal tokens, directed as attention reads."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

# N blocks; rows are queries, columns are keys


@dataclass(frozen=True, eq=False)
class BlockGraph:
    """Which blocks read which; every token of a block reads every token of the blocks it reads.

    The same at two levels: with `tokens_per_block` 1 the vertices are blocks (or tokens, if the
    adjacency is of tokens); with more, each vertex is that many tokens.
    """

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
        """(N, N) float64 of 0 and 1: i reads j or j reads i. The diagonal says that tokens of a block
        read each other; with one token per block it is 0, because edges join two vertices."""
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
