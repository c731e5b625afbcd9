"""The patterns of attention that are compared, at one length. Loads torch with the patterns."""

from collections.abc import Callable

import numpy as np

from dna_bigbird.attention.graphs.block_graph import BlockGraph
from dna_bigbird.attention.graphs.makers import (
    complete_graph,
    erdos_renyi_graph,
    etc_graph,
    longformer_graph,
    pattern_graph,
    watts_strogatz_graph,
)

LONGFORMER_ONE_SIDED, ETC_RADIUS = 256, 84
"""Tokens on either side that the published models read."""
MOST_EDGES = 100_000
"""Edges up to which random graphs are made for comparison."""
MOST_COMPLETE = 2048
"""Vertices up to which the complete graph is measured; its numbers are known for any size."""


def itc_graphs(
    num_tokens: int, block_size: int, num_random: int, seed: int = 0, *, at_tokens: bool = False
) -> list[BlockGraph]:
    """Return BigBird-ITC with every plan of random blocks: head 0, layer `seed`.

    'huggingface' is drawn as in evaluation, where its random blocks are all block 0, and as in
    training.
    """
    from dna_bigbird.attention.patterns import bigbird_itc

    settings = {
        "uniform": {"plan": "uniform"},
        "original": {"plan": "original"},
        "huggingface": {"plan": "huggingface"},
        "huggingface, training": {"plan": "huggingface", "training": True},
    }
    return [
        pattern_graph(
            name,
            bigbird_itc(num_tokens // block_size, block_size, num_random, 1, seed=seed, **options),
            at_tokens=at_tokens,
        )
        for name, options in settings.items()
    ]


def token_graphs(num_tokens: int, num_global: int) -> list[BlockGraph]:
    """Return the patterns that are defined by tokens, with this many global tokens.

    To add another pattern, return its `BlockGraph` here.
    """
    makers: list[Callable[[], BlockGraph]] = [
        lambda: etc_graph(num_tokens, ETC_RADIUS, num_global),
        lambda: longformer_graph(num_tokens, LONGFORMER_ONE_SIDED, num_global),
    ]
    return [make() for make in makers]


def comparison_graphs(graph: BlockGraph, seed: int = 0) -> list[BlockGraph]:
    """Return random graphs with as many vertices as a graph, and about as many edges.

    Erdős–Rényi has as many; Watts–Strogatz (p = 0.1) the nearest even number of neighbours; both are
    left out above MOST_EDGES. Complete is the graph of full attention.
    """
    n, edges = graph.num_vertices, graph.num_edges
    rng = np.random.default_rng(seed)
    graphs = []
    if edges <= MOST_EDGES:
        neighbours = min(max(2, 2 * round(edges / n)), (n - 1) // 2 * 2)
        graphs = [
            erdos_renyi_graph(n, edges, rng, "Erdos-Renyi"),
            watts_strogatz_graph(n, neighbours, 0.1, rng),
        ]
    return [*graphs, complete_graph(n)] if n <= MOST_COMPLETE else graphs


def random_part(graph: BlockGraph) -> BlockGraph:
    """Return a pattern without its global blocks: what the window and the random blocks join."""
    every = np.asarray(graph.reads.sum(axis=1)).ravel() == graph.num_blocks
    rest = graph.without(every)
    return BlockGraph(f"{graph.name}, no global", rest.reads, graph.tokens_per_block)


def most_read(graph: BlockGraph) -> tuple[int, float]:
    """Return how many blocks read the most read ordinary block, and the mean over all of them."""
    read = np.asarray(random_part(graph).reads.sum(axis=0)).ravel()
    return int(read.max(initial=0)), float(read.mean()) if len(read) else 0.0
