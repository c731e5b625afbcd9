"""The attention backend of a training on a GPU: chosen once by one process, and kept by the run."""

from pathlib import Path

import torch
from torch import nn

from dna_bigbird.attention.autotune import Choice, Device, ShapeClass, choose
from dna_bigbird.attention.autotune.timed import measure_on_gpu
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.flops import encoder_flops
from dna_bigbird.models.precision import BFLOAT16
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.run_settings import BACKEND, read_chosen

MEASURING_S = 120.0
"""What measuring may take: FlexAttention compiles for each kind of problem and searches tiles."""
ASSUMED_RATE = 1e14
"""Operations a second of a GPU, to tell minutes from days."""


def backend_for(
    encoder: EncoderConfig, *, in_bfloat16: bool, training: bool, operations: float
) -> Choice:
    """Choose for sequences of `max_tokens`; work of few operations in all measures nothing."""
    shape = ShapeClass.of(
        torch.bfloat16 if in_bfloat16 else torch.float32,
        encoder.hidden_size // encoder.num_heads,
        encoder.block_size,
        encoder.max_tokens,
        training,
    )
    is_long = operations / ASSUMED_RATE > MEASURING_S
    return choose(shape, Device.here(), measure_on_gpu if is_long else None)


def is_open(model: nn.Module, config: TrainConfig, device: str) -> bool:
    """Return True if a backend is to be chosen: on a GPU, where none is named."""
    encoder = getattr(model, "encoder", None)
    return (
        device == "cuda"
        and config.attention_backend == "auto"
        and isinstance(encoder, Encoder)
        and encoder.config.attention == "bigbird"
        and not encoder.config.attention_dropout
    )


def choose_for(model: nn.Module, config: TrainConfig) -> dict[str, str]:
    """Choose and note the backend of a training, as settings.json records it."""
    sequences = config.max_steps * config.batch_size * config.accumulate
    choice = backend_for(
        model.encoder.config,
        in_bfloat16=config.precision == BFLOAT16,
        training=True,
        operations=3 * encoder_flops(model.encoder, model.encoder.config.max_tokens) * sequences,
    )
    note(
        f"attention backend {choice.backend}: {choice.why}; --training.attention_backend names one"
    )
    return {BACKEND: choice.backend}


def apply(model: nn.Module, folder: Path) -> None:
    """Let a model compute with the backend that its run began with, or raise InputError."""
    name = read_chosen(folder).get(BACKEND)
    if name is None:
        return
    try:
        model.encoder.set_backend(name)
    except (ValueError, InputError) as error:
        raise InputError(
            f"{folder}: this run began with attention backend {name!r}, which it cannot go on with here "
            f"({error}). Continue on a machine like the first one, or begin again with other --checkpoints"
        ) from None
