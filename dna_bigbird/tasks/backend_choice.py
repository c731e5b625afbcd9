"""The attention backend of a training on a GPU: chosen once by one process, and kept by the run."""

from pathlib import Path

import torch
from torch import nn

from dna_bigbird.attention.choosing import Choice, Device, ShapeClass, choose
from dna_bigbird.errors import InputError, note
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.flops import forward_flops
from dna_bigbird.models.precision import BFLOAT16
from dna_bigbird.tasks.config import TrainConfig
from dna_bigbird.tasks.run_settings import read_chosen

BACKEND = "attention_backend"
MEASURING_S = 120.0
"""What measuring may take: FlexAttention compiles for each kind of problem and searches tiles."""
ASSUMED_RATE = 1e14
"""Operations a second of a GPU, to tell a run of minutes from a run of days."""


def is_open(model: nn.Module, config: TrainConfig, device: str) -> bool:
    """Return True if a backend is to be chosen: on a GPU, where none is named."""
    encoder = getattr(model, "encoder", None)
    return (
        device == "cuda"
        and config.attention_backend == "auto"
        and isinstance(encoder, Encoder)
        and not encoder.config.attention_dropout
    )


def choose_for(model: nn.Module, config: TrainConfig) -> dict[str, str]:
    """Choose a backend for a training, and say so; short trainings measure nothing.

    Returns:
        What settings.json records.
    """
    choice = _choice(model, config)
    note(
        f"attention backend {choice.backend}: {choice.why}; --training.attention_backend names one"
    )
    return {BACKEND: choice.backend}


def _choice(model: nn.Module, config: TrainConfig) -> Choice:
    encoder = model.encoder.config
    shape = ShapeClass.of(
        torch.bfloat16 if config.precision == BFLOAT16 else torch.float32,
        encoder.hidden_size // encoder.num_heads,
        encoder.block_size,
        encoder.max_tokens,
        training=True,
    )
    step = 3 * forward_flops(model, [encoder.max_tokens]) * config.batch_size * config.accumulate
    seconds = step * config.max_steps / ASSUMED_RATE
    return choose(shape, Device.here(), may_measure=seconds > MEASURING_S)


def apply(model: nn.Module, folder: Path) -> None:
    """Let a model compute with the backend that its run began with.

    Raises:
        InputError: If that one cannot compute it here.
    """
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
