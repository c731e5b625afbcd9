"""The problem whose outputs the public TensorFlow layer printed, built with our module.

Inputs and weights are sines, so both programs make them without a file.
"""

import numpy as np
import torch
from torch import nn

from dna_bigbird.attention.cores import BigBirdEtc
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

LONG, GLOBAL, HIDDEN, HEADS, RADIUS, DISTANCE = 23, 5, 8, 2, 4, 3
NUM_LABELS = 2 * DISTANCE + 4
LONG_ENDS, GLOBAL_ENDS = ((6, 13, 20), (10, 22)), ((1, 4), (0, 3))
"""Last tokens of the paragraphs; padding follows."""


def wave(shape: tuple[int, ...], start: int, scale: float = 1.0) -> torch.Tensor:
    """Return float32 numbers that any program can make: scale · sin(start + 0.7 i + 0.013 i²)."""
    i = np.arange(1, int(np.prod(shape)) + 1, dtype=np.float64)
    values = scale * np.sin(start + 0.7 * i + 0.013 * i * i)
    return torch.from_numpy(values.reshape(shape).astype(np.float32))


def segments_of(
    ends: tuple[tuple[int, ...], ...], length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the paragraph of every token, and which tokens are after the last one: padding."""
    at = torch.arange(length)
    segments = torch.stack([sum((at > end).long() for end in row) for row in ends])
    return segments, segments == torch.tensor([[len(row)] for row in ends])


def layout() -> EtcLayout:
    """Sentences and paragraphs of two sequences; a long token belongs to at most one of each."""
    at = torch.arange(LONG)
    sentence = torch.stack([(at // 5).clamp(max=3), 1 + at // 12])
    paragraph = torch.stack([torch.where(at >= 14, 4, -1), torch.where(at < 11, 0, 3)])
    long_segments, long_padding = segments_of(LONG_ENDS, LONG)
    global_segments, global_padding = segments_of(GLOBAL_ENDS, GLOBAL)
    free = torch.zeros(2, GLOBAL, dtype=torch.bool)
    free[0, 2] = True
    return EtcLayout.of_owners(
        torch.stack([sentence, paragraph], dim=2),
        long_padding,
        global_padding,
        long_segments=long_segments,
        global_segments=global_segments,
        free_global=free,
    )


def core(sharing: str, shared_output: bool, hard_g2l: bool) -> BigBirdEtc:
    """Return our module with the weights of the public layer."""
    pattern = EtcPattern(RADIUS, "exact", DISTANCE, hard_g2l=hard_g2l)
    module = BigBirdEtc(
        HIDDEN, HEADS, pattern, sharing=sharing, shared_output=shared_output, dropout_p=0.0
    )
    square = (HIDDEN, HIDDEN)

    def fill(linear: nn.Linear | None, numbers: tuple[int, ...], first_bias: int) -> None:
        if linear is None:
            return
        base = 10 if first_bias == 30 else 50
        linear.weight.copy_(torch.cat([wave(square, base + n, 0.5).T for n in numbers]))
        linear.bias.copy_(torch.cat([wave((HIDDEN,), first_bias + n, 0.3) for n in numbers]))

    with torch.no_grad():
        fill(module.qkv, (0, 1, 2), 30)
        fill(module.long_to_global_kv, (3, 4), 30)
        fill(module.global_qkv, (5, 6, 7), 30)
        fill(module.global_to_long_kv, (8, 9), 30)
        fill(module.output, (0,), 60)
        fill(module.global_output, (1,), 60)
        for i, table in enumerate((module.long_labels, module.global_labels)):
            table.embeddings.copy_(wave(tuple(table.embeddings.shape), 70 + i))
            table.biases.copy_(wave(tuple(table.biases.shape), 80 + i))
    return module.eval()
