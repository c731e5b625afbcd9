"""Time and memory of one attention layer of every core, in one interleaved run."""

import statistics
import time
from collections.abc import Callable, Sequence

import torch

from dna_bigbird.evaluation.long_attention.layers import Layer, LayerSizes, build_layer

Clock = Callable[[], float]


def saved_bytes(layer: Layer) -> int:
    """Return how many bytes the forward pass keeps for the backward pass, weights aside.

    A storage counts once, as large as it is. What a backend needs in between and frees is not counted.
    """
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
    """Return the seconds of every round for each layer, after a round that warms up.

    The layers take turns, so another program on the machine slows all of them; every second round runs backwards.

    Args:
        clock: By default processor time of all threads of this process.
    """
    seconds: list[list[float]] = [[] for _ in layers]
    for round_number in range(-1, rounds):
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
