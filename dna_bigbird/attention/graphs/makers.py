"""Graphs to measure: patterns of this package, patterns from their definitions, random graphs."""

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from dna_bigbird.attention.graphs.block_graph import BlockGraph


def graph_of_edges(name: str, num: int, edges: Iterable[tuple[int, int]]) -> BlockGraph:
    """Return a graph with these edges, in both directions."""
    pairs = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    return BlockGraph(name, _adjacency(num, pairs[:, 0], pairs[:, 1], both=True))


def _adjacency(
    num: int, rows: np.ndarray, columns: np.ndarray, both: bool = False
) -> sparse.csr_array:
    if both:
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    data = np.ones(len(rows), dtype=bool)
    adjacency = sparse.csr_array((data, (rows, columns)), shape=(num, num))
    adjacency.sum_duplicates()
    return adjacency


def pattern_graph(name: str, pattern: object, head: int = 0, at_tokens: bool = True) -> BlockGraph:
    """Return the graph of one head of a `BlockPattern`; vertices are tokens, or blocks."""
    table = pattern.key_blocks[head]
    rows, slots = np.nonzero(table >= 0)
    columns = table[rows, slots]
    every = np.arange(pattern.num_blocks)
    for block in np.flatnonzero(pattern.is_global):
        rows = np.concatenate([rows, np.full(pattern.num_blocks, block)])
        columns = np.concatenate([columns, every])
    adjacency = _adjacency(pattern.num_blocks, rows, columns)
    return BlockGraph(name, adjacency, pattern.block_size if at_tokens else 1)


def band(num: int, radius: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs (i, j) with |i - j| at most the radius, j inside the sequence."""
    rows = np.repeat(np.arange(num), 2 * radius + 1)
    columns = rows + np.tile(np.arange(-radius, radius + 1), num)
    inside = (columns >= 0) & (columns < num)
    return rows[inside], columns[inside]


def longformer_graph(num_tokens: int, one_sided: int, num_global: int) -> BlockGraph:
    """Return Longformer's pattern (specification §8.1, no dilation); global tokens come first."""
    rows, columns = band(num_tokens, one_sided)
    name = f"Longformer, window {2 * one_sided}"
    return _with_globals(name, num_tokens, rows, columns, np.arange(num_global))


def etc_graph(num_tokens: int, radius: int, num_global: int) -> BlockGraph:
    """Return ETC's pattern: a second stream of global tokens, then a band in the long stream."""
    # As `patterns.etc.EtcPattern` without padding, cuts and hard attention.
    rows, columns = band(num_tokens, radius)
    num = num_global + num_tokens
    name = f"ETC, radius {radius}"
    return _with_globals(name, num, rows + num_global, columns + num_global, np.arange(num_global))


def _with_globals(
    name: str, num: int, rows: np.ndarray, columns: np.ndarray, chosen: np.ndarray
) -> BlockGraph:
    every = np.tile(np.arange(num), len(chosen))
    hubs = np.repeat(chosen, num)
    rows, columns = [np.concatenate(x) for x in ((rows, hubs, every), (columns, every, hubs))]
    return BlockGraph(name, _adjacency(num, rows, columns))


def complete_graph(num: int) -> BlockGraph:
    """Return the complete graph."""
    return BlockGraph("complete", sparse.csr_array(np.ones((num, num), dtype=bool)))


def ring_graph(num: int, neighbours: int, name: str = "") -> BlockGraph:
    """Return a ring in which each vertex is joined with its nearest `neighbours`, an even number."""
    vertex = np.repeat(np.arange(num), neighbours // 2)
    offset = np.tile(np.arange(1, neighbours // 2 + 1), num)
    name = name or f"window {neighbours} on a ring"
    return BlockGraph(name, _adjacency(num, vertex, (vertex + offset) % num, both=True))


def random_reads_graph(num: int, num_random: int, rng: np.random.Generator) -> BlockGraph:
    """Return a graph in which each vertex draws `num_random` others."""
    rows = np.repeat(np.arange(num), num_random)
    drawn = [rng.choice(num - 1, num_random, replace=False) for _ in range(num)]
    columns = np.concatenate(drawn)
    columns += columns >= rows
    return BlockGraph(f"random r={num_random}", _adjacency(num, rows, columns, both=True))


def star_graph(num: int, num_global: int) -> BlockGraph:
    """Return a graph in which the first vertices are joined with all."""
    nothing = np.empty(0, dtype=np.int64)
    return _with_globals(f"global g={num_global}", num, nothing, nothing, np.arange(num_global))


def union(name: str, *graphs: BlockGraph) -> BlockGraph:
    """Return the graph with the edges of all."""
    total = graphs[0].reads
    for graph in graphs[1:]:
        total = total + graph.reads
    return BlockGraph(name, total.astype(bool).tocsr())


def erdos_renyi_graph(num: int, num_edges: int, rng: np.random.Generator, name: str) -> BlockGraph:
    """Return a graph with this many edges, every such graph equally likely."""
    chosen = rng.choice(num * (num - 1) // 2, num_edges, replace=False)
    # Pair number p of the pairs (i, j), i < j, ordered by j: T(j - 1) <= p < T(j).
    j = ((1 + np.sqrt(8.0 * chosen + 1)) // 2).astype(np.int64)
    j -= j * (j - 1) // 2 > chosen
    i = chosen - j * (j - 1) // 2
    return BlockGraph(name, _adjacency(num, i, j, both=True))


def watts_strogatz_graph(
    num: int, neighbours: int, probability: float, rng: np.random.Generator
) -> BlockGraph:
    """Return a ring whose edges were rewired, each with this probability (Watts and Strogatz)."""
    # The edges i to i + 1 of all vertices are tried first, then those to i + 2, and so on; the far end
    # of an edge moves to a vertex that is not a neighbour yet.
    adjacent = [set() for _ in range(num)]
    for offset in range(1, neighbours // 2 + 1):
        for i in range(num):
            adjacent[i].add((i + offset) % num)
            adjacent[(i + offset) % num].add(i)
    for offset in range(1, neighbours // 2 + 1):
        for i in range(num):
            old = (i + offset) % num
            if rng.random() >= probability or len(adjacent[i]) >= num - 1:
                continue
            new = int(rng.integers(num))
            while new == i or new in adjacent[i]:
                new = int(rng.integers(num))
            adjacent[i].remove(old)
            adjacent[old].remove(i)
            adjacent[i].add(new)
            adjacent[new].add(i)
    edges = [(i, j) for i, others in enumerate(adjacent) for j in others if i < j]
    return BlockGraph(
        f"Watts-Strogatz k={neighbours} p={probability:g}", graph_of_edges("", num, edges).reads
    )


# --- The graphs of specification §9.4: 512 vertices, next to random graphs with equally many edges ---


def reference_graphs(num: int = 512, seed: int = 0) -> list[BlockGraph]:
    """Return random, window, global, their unions, Erdős–Rényi, Watts–Strogatz and complete graphs."""
    rng = np.random.default_rng(seed)
    drawn, window, hubs = random_reads_graph(num, 3, rng), ring_graph(num, 6), star_graph(num, 2)
    joined = union("R + W", drawn, window)
    return [
        drawn,
        window,
        hubs,
        joined,
        union("R + W + G (BigBird)", joined, hubs),
        *(
            erdos_renyi_graph(num, x.num_edges, rng, f"Erdos-Renyi, edges of {x.name}")
            for x in (joined, window)
        ),
        watts_strogatz_graph(num, 6, 0.1, rng),
        watts_strogatz_graph(num, 12, 0.1, rng),
        complete_graph(num),
    ]


# --- The patterns of attention that are compared, at one length. Loads torch with the patterns ---

LONGFORMER_ONE_SIDED, ETC_RADIUS = 256, 84
"""Tokens on either side that the published models read."""
MOST_EDGES = 100_000
"""Edges up to which random graphs are made for comparison."""
MOST_COMPLETE = 2048
"""Vertices up to which the complete graph is measured; its numbers are known for any size."""


def itc_graphs(
    num_tokens: int, block_size: int, num_random: int, seed: int = 0, *, at_tokens: bool = False
) -> list[BlockGraph]:
    """Return BigBird-ITC with every plan of random blocks: head 0, layer `seed`."""
    # 'huggingface' in evaluation has block 0 in place of all random blocks.
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
    """Return the patterns that are defined by tokens; to add another one, return its graph here."""
    return [
        etc_graph(num_tokens, ETC_RADIUS, num_global),
        longformer_graph(num_tokens, LONGFORMER_ONE_SIDED, num_global),
    ]


def comparison_graphs(graph: BlockGraph, seed: int = 0) -> list[BlockGraph]:
    """Return random graphs with as many vertices, about as many edges, and the complete graph."""
    # Watts-Strogatz (p = 0.1) has the nearest even number of neighbours.
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
