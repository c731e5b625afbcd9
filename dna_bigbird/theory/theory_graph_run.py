"""Steps of `theory graph`: which graphs are measured, and what the random plans do."""

from collections.abc import Sequence

from dna_bigbird.attention.graphs.block_graph import BlockGraph
from dna_bigbird.attention.graphs.makers import (
    comparison_graphs,
    itc_graphs,
    most_read,
    random_part,
    reference_graphs,
    token_graphs,
)
from dna_bigbird.attention.graphs.statistics import Statistics, statistics
from dna_bigbird.core.errors import InputError


def measure(
    num_tokens: int, block_size: int, num_random: int, num_global: int, seed: int, at_tokens: bool
) -> list[Statistics]:
    """Measure all patterns of one length and the graphs that they are compared with."""
    try:
        graphs = itc_graphs(num_tokens, block_size, num_random, seed, at_tokens=at_tokens)
    except ValueError as error:
        raise InputError(str(error)) from error
    uniform = graphs[0]
    if at_tokens:
        graphs += token_graphs(num_tokens, num_global)
    else:
        graphs += [random_part(x) for x in graphs if 0 < x.hubs.sum() < x.num_blocks]
    graphs += comparison_graphs(uniform, seed)
    return [statistics(graph, seed) for graph in graphs]


def reference(seed: int) -> list[Statistics]:
    """Measure the graphs of 512 vertices."""
    return [statistics(graph, seed) for graph in reference_graphs(seed=seed)]


def narrow_text(lengths: Sequence[int], block_size: int, num_random: int, seed: int) -> str:
    """Return what the narrow random columns of the published plan do to the blocks that are read."""
    lines = ["readers of the most read ordinary block, and on average:"]
    for length in lengths:
        graphs: list[BlockGraph] = itc_graphs(length, block_size, num_random, seed)
        counts = [
            f"{graph.name} {most}, {mean:.1f}"
            for graph in graphs
            for most, mean in [most_read(graph)]
        ]
        lines.append(f"{length:,} tokens: {'; '.join(counts)}")
    return "\n".join(lines)
