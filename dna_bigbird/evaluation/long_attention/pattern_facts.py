"""What each core reads, as numbers: keys per query, share of pairs, distances in the graph, exactness."""

import torch
from torch import Tensor

from dna_bigbird.attention.graphs.block_graph import BlockGraph
from dna_bigbird.attention.graphs.makers import etc_graph, longformer_graph, pattern_graph
from dna_bigbird.attention.graphs.paths import paths
from dna_bigbird.attention.patterns import bigbird_itc
from dna_bigbird.evaluation.long_attention.layers import (
    RANDOM_BLOCKS,
    Layer,
    LayerSizes,
    build_layer,
)

CLASSES = {
    "full": "exact softmax over all pairs",
    "bigbird": "exact softmax over chosen keys",
    "etc": "exact softmax over chosen keys",
    "longformer": "exact softmax over chosen keys",
    "performer": "estimate of the softmax over all pairs",
}
"""What a core computes, by name."""
READS_ALL = ("full", "performer")


def core_graph(core: str, tokens: int, sizes: LayerSizes) -> BlockGraph:
    """Return who reads whom in a layer with a sparse pattern, at the level of tokens.

    Raises:
        ValueError: If the core reads all pairs.
    """
    if core == "bigbird":
        num_blocks = -(-tokens // sizes.block_size)
        pattern = bigbird_itc(
            num_blocks, sizes.block_size, RANDOM_BLOCKS, sizes.num_heads, plan="uniform", seed=0
        )
        return pattern_graph(core, pattern)
    if core == "etc":
        num_global = -(-tokens // sizes.tokens_per_global(tokens))
        return etc_graph(tokens, sizes.side, num_global)
    if core == "longformer":
        return longformer_graph(tokens, sizes.side, sizes.num_global)
    raise ValueError(f"{core} reads all pairs")


def pattern_facts(core: str, tokens: int, sizes: LayerSizes) -> dict:
    """Return keys per query, share of pairs, and mean and largest distance in the undirected graph.

    Keys are the median over the queries of the sequence: global tokens read more. The share is of all queries, with
    both streams of ETC. A global token of ETC reads its own tokens and the global ones, so fewer than in the graph,
    which has these edges already because every long token reads it.
    """
    if core in READS_ALL:
        return {
            "keys_per_query": tokens,
            "share_of_pairs": 1.0,
            "mean_distance": 1.0,
            "diameter": 1,
        }
    graph = core_graph(core, tokens, sizes)
    keys = torch.from_numpy(graph.reads.sum(axis=1) * graph.tokens_per_block)
    num_global = graph.num_vertices - tokens if core == "etc" else 0
    if core == "etc":
        keys[:num_global] = tokens / num_global + num_global
    measured = paths(graph)
    return {
        "keys_per_query": int(keys[num_global:].double().median()),
        "share_of_pairs": float(keys.double().mean()) / graph.num_vertices,
        "mean_distance": measured.mean,
        "diameter": measured.diameter,
    }


@torch.no_grad()
def exactness(core: str, tokens: int, sizes: LayerSizes) -> dict:
    """Return the class of a core, and the relative error of its output with random weights.

    The error is against its own dense reference, another program that computes the same; for the Performer against
    exact softmax attention with the same weights, which it estimates. It is the norm of the difference, divided by
    that of the reference.
    """
    layer = build_layer(core, tokens, sizes)
    out = layer.attend(layer.states)
    if layer.reference is None:
        of_full = build_layer("full", tokens, sizes)
        reference = of_full.attend(of_full.states)
    else:
        reference = _by_backend(layer, layer.reference)
    error = float((out - reference).norm() / reference.norm())
    return {"class": CLASSES[core], "error_of_reference": error}


def _by_backend(layer: Layer, name: str) -> Tensor:
    layer.module.backend = name
    return layer.attend(layer.states)
