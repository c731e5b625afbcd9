"""The attention backend of a long work on a GPU, by what is measured there."""

import torch

from dna_bigbird.attention.autotune import Choice, Device, ShapeClass, choose
from dna_bigbird.attention.autotune.timed import measure_on_gpu
from dna_bigbird.models.config import EncoderConfig

MEASURING_S = 120.0
"""What measuring may take: FlexAttention compiles for each kind of problem and searches tiles."""
ASSUMED_RATE = 1e14
"""Operations a second of a GPU, to tell minutes from days."""


def backend_for(
    encoder: EncoderConfig, *, in_bfloat16: bool, training: bool, operations: float
) -> Choice:
    """Choose for sequences of `max_tokens`; short work measures nothing.

    Args:
        operations: Of the whole work, as `models.flops` counts them.
    """
    shape = ShapeClass.of(
        torch.bfloat16 if in_bfloat16 else torch.float32,
        encoder.hidden_size // encoder.num_heads,
        encoder.block_size,
        encoder.max_tokens,
        training,
    )
    is_long = operations / ASSUMED_RATE > MEASURING_S
    return choose(shape, Device.here(), measure_on_gpu if is_long else None)
