"""The matrices of level (e) with this package's own attention: level (f). Loads torch.

The construction scores -|f| with f = ⟨q, k⟩; `attend` scores +⟨q, k⟩ / √d. So it gets -(q ⊗ q) and
k ⊗ k, whose product is -f²: the same order. These products are formed outside attention, which has
no such layer. They are scaled until the softmax is a hardmax in float64: the second key of any
query then has the weight exp(-HARD) = 0.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from dna_bigbird.attention import attend
from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.theory.turing.decoder import edges_of
from dna_bigbird.theory.turing.layered import Position, run_layers
from dna_bigbird.theory.turing.layers import Layers
from dna_bigbird.theory.turing.matrices import Vector

HARD = 800
"""Difference of scores from which the smaller one has the weight 0: exp(-746) is 0 in float64."""


@dataclass(frozen=True)
class PackageRun:
    """One run on this package's attention."""

    positions: list[Position]
    head_dim: int
    smallest_gap: Fraction | None
    """Of f², over all nodes, in exact arithmetic."""
    scale: float
    """Factor of -f², a power of two."""
    largest_change: float
    """When all positions are computed again in one call: the largest difference."""


def run_package(layers: Layers, word: str, steps: int) -> PackageRun:
    """Run the decoder position by position with `attend`, backend 'dense', block size 1."""
    machine = layers.layout.machine
    exact = list(run_layers(layers, word, steps))
    gap = min((p.gap for p in exact if p.gap is not None), default=None)
    head_dim = max(9, len(machine.symbols) + 2)
    scale = scale_for(gap, head_dim)
    stored: dict[str, list] = {"queries": [], "keys": [], "values": [], "outputs": []}

    def attention(node: int, queries: list, keys: list, values: list) -> Vector:
        # Only this position's row: the others are those of the calls before.
        edges = sorted(set(edges_of(node)))
        read = sorted({*edges, node})
        table = np.array([[[read.index(edge) for edge in edges]] * len(read)])
        pattern = BlockPattern(table, np.zeros(len(read), dtype=bool), block_size=1)
        rows = [[x[i - 1] for i in read] for x in (queries, keys, values)]
        outputs = attend_edges(*rows, head_dim, scale, pattern)
        stored.update(queries=queries, keys=keys, values=values)
        stored["outputs"].append(outputs[-1])
        return outputs[-1]

    positions = list(run_layers(layers, word, steps, float, attention))
    outputs = np.array(stored.pop("outputs"))
    again = attend_edges(*stored.values(), head_dim, scale, edge_pattern(len(outputs)))
    change = float(np.abs(again - outputs).max())
    return PackageRun(positions, head_dim, gap, scale, change)


def scale_for(gap: Fraction | None, head_dim: int) -> float:
    """Return the smallest power of two that makes a gap of f² a difference of HARD."""
    scale = 1.0
    while gap is not None and scale * float(gap) < HARD * head_dim**0.5:
        scale *= 2
    return scale


def edge_pattern(nodes: int) -> BlockPattern:
    """Return the edges as a pattern of blocks of one token; node i is block i - 1.

    Example:
        >>> from dna_bigbird.attention.patterns import draw
        >>> print(draw(edge_pattern(6)))
        #.....
        #.....
        .##...
        #.#...
        ..#.#.
        ....##
    """
    table = np.full((1, nodes, 2), -1)
    for node in range(1, nodes + 1):
        for slot, edge in enumerate(sorted(set(edges_of(node)))):
            table[0, node - 1, slot] = edge - 1
    return BlockPattern(table, np.zeros(nodes, dtype=bool), block_size=1)


def attend_edges(
    queries: list, keys: list, values: list, head_dim: int, scale: float, pattern: BlockPattern
) -> np.ndarray:
    """Return the attention of every node of a pattern: (nodes, |Σ| + 2) float64."""
    q, k, v = (np.array(x, dtype=np.float64) for x in (queries, keys, values))
    squares = [-scale * _outer(q), _outer(k), v]
    padded = [np.pad(x, ((0, 0), (0, head_dim - x.shape[1]))) for x in squares]
    tensors = [torch.from_numpy(x)[None, None] for x in padded]
    out = attend(*tensors, pattern, backend="dense")
    return out[0, 0, :, : v.shape[1]].numpy()


def _outer(x: np.ndarray) -> np.ndarray:
    """Return x ⊗ x of each row: (nodes, 9)."""
    return (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
