"""The attention backend of a training on a GPU: chosen once by one process, and kept by the run."""

from pathlib import Path

from torch import nn

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.flops import encoder_flops
from dna_bigbird.models.gpu_backend import backend_for
from dna_bigbird.models.precision import BFLOAT16
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.run_settings import read_chosen

BACKEND = "attention_backend"


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
    """Choose a backend for a training and say so; short trainings measure nothing.

    Returns:
        What settings.json records.
    """
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
