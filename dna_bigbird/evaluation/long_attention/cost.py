"""Time and memory of one attention layer of every core, in one interleaved run."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from dna_bigbird.attention.graphs.block_graph import BlockGraph, paths
from dna_bigbird.attention.graphs.makers import etc_graph, longformer_graph, pattern_graph
from dna_bigbird.attention.patterns import bigbird_itc
from dna_bigbird.core.limits import usable_processors
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.evaluation.long_attention.names import IDENTITY
from dna_bigbird.evaluation.long_attention.small_models import (
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
    """Return who reads whom in a layer with a sparse pattern, at the level of tokens."""
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
    """Return keys per query, share of pairs, and distances in the undirected graph."""
    if core in READS_ALL:
        facts = {"keys_per_query": tokens, "share_of_pairs": 1.0}
        return facts | {"mean_distance": 1.0, "diameter": 1}
    graph = core_graph(core, tokens, sizes)
    keys = torch.from_numpy(graph.reads.sum(axis=1) * graph.tokens_per_block)
    num_global = graph.num_vertices - tokens if core == "etc" else 0
    if core == "etc":
        # A global token reads its own tokens; the graph has more edges, those of its readers.
        keys[:num_global] = tokens / num_global + num_global
    measured = paths(graph)
    return {
        # The median, as global tokens read more.
        "keys_per_query": int(keys[num_global:].double().median()),
        "share_of_pairs": float(keys.double().mean()) / graph.num_vertices,
        "mean_distance": measured.mean,
        "diameter": measured.diameter,
    }


@torch.no_grad()
def exactness(core: str, tokens: int, sizes: LayerSizes) -> dict:
    """Return the class of a core, and the relative error against its own dense reference."""
    layer = build_layer(core, tokens, sizes)
    out = layer.attend(layer.states)
    if layer.reference is None:
        # The Performer estimates exact softmax attention with the same weights.
        of_full = build_layer("full", tokens, sizes)
        reference = of_full.attend(of_full.states)
    else:
        layer.module.backend = layer.reference
        reference = layer.attend(layer.states)
    error = float((out - reference).norm() / reference.norm())
    return {"class": CLASSES[core], "error_of_reference": error}


Clock = Callable[[], float]


def saved_bytes(layer: Layer) -> int:
    """Return how many bytes the forward pass keeps for the backward pass, weights aside."""
    weights = {weight.untyped_storage().data_ptr() for weight in layer.module.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(x: torch.Tensor) -> torch.Tensor:
        storage = x.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage  # held, or its address would be used again
        return x

    states = layer.states.clone().requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        layer.attend(states)
    return sum(storage.nbytes() for storage in kept.values())


def forward(layer: Layer) -> None:
    """Compute the output without gradients."""
    with torch.no_grad():
        layer.attend(layer.states)


def forward_backward(layer: Layer) -> None:
    """Compute the output, and the gradients of states and weights."""
    states = layer.states.clone().requires_grad_()
    out = layer.attend(states)
    inputs = (states, *layer.module.parameters())
    torch.autograd.grad(out, inputs, torch.ones_like(out), allow_unused=True)


def interleaved_seconds(
    layers: Sequence[Layer],
    call: Callable[[Layer], None],
    rounds: int,
    clock: Clock = time.process_time,
) -> list[list[float]]:
    """Return the seconds of every round for each layer, after a round that warms up."""
    seconds: list[list[float]] = [[] for _ in layers]
    for round_number in range(-1, rounds):
        # In turns, forwards and backwards: another program on the machine slows all of them.
        order = range(len(layers)) if round_number % 2 else reversed(range(len(layers)))
        for number in order:
            started_at = clock()
            call(layers[number])
            if round_number >= 0:
                seconds[number].append(clock() - started_at)
    return seconds


def measure_cost(
    cores: Sequence[str],
    tokens: int,
    sizes: LayerSizes,
    rounds: int,
    clock: Clock = time.process_time,
) -> list[dict]:
    """Return one row per core: median, lowest and highest processor time, and saved bytes."""
    layers = [build_layer(core, tokens, sizes) for core in cores]
    rows: list[dict] = [{"core": core, "tokens": tokens} for core in cores]
    for name, call in (("forward", forward), ("forward_backward", forward_backward)):
        for row, seconds in zip(
            rows, interleaved_seconds(layers, call, rounds, clock), strict=True
        ):
            row[f"{name}_s"] = statistics.median(seconds)
            row[f"{name}_s_low"], row[f"{name}_s_high"] = min(seconds), max(seconds)
    for row, layer in zip(rows, layers, strict=True):
        row["saved_bytes"] = saved_bytes(layer)
    return rows


EXACTNESS_TOKENS = 1024
"""Longest sequence that is compared with a dense reference."""


def cost_job(settings: Mapping[str, Any]) -> dict:
    """Return the rows, and the machine that they were measured on."""
    sizes, lengths = LayerSizes(), settings["lengths"]
    rows = []
    with progress_bar(total=len(lengths), desc="cost", unit="length") as bar:
        for tokens in lengths:
            *of_cores, least = measure_cost(
                [*settings["cores"], IDENTITY], tokens, sizes, settings["rounds"]
            )
            for row in of_cores:
                core = str(row["core"])
                exact = exactness(core, min(tokens, EXACTNESS_TOKENS), sizes)
                rows.append(row | pattern_facts(core, tokens, sizes) | exact)
            rows.append(least)
            bar.update()
    machine = {
        "processors": usable_processors(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    return {"machine": machine, "rows": rows}
