"""Where a bundle is computed, and by which attention backend."""

import torch

from dna_bigbird.attention.native.library import is_there
from dna_bigbird.attention.native.operator import shape_obstacle
from dna_bigbird.errors import InputError
from dna_bigbird.inference.bundle import Bundle
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder


def choose_device(name: str) -> torch.device:
    """Return the device of a name of `Compute.device`.

    Raises:
        InputError: If there is no such device.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here; use --device cpu")
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def set_backend(bundle: Bundle, name: str, device: torch.device) -> str | None:
    """Let the bundle's model compute attention by this backend.

    Returns:
        Why 'auto' is slow here, if it is.

    Raises:
        InputError: If the backend cannot compute this model on this device.
    """
    if device.type != "cpu" and name in ("merged", "native"):
        raise InputError(
            f"--backend {name} computes on a CPU, not on {device.type}; leave it out, or add "
            "--device cpu"
        )
    for module in bundle.model.modules():  # an ensemble has several encoders
        if isinstance(module, Encoder):
            module.set_backend(name)
    config = EncoderConfig(**bundle.config["encoder"])
    if device.type != "cpu" or name != "auto":
        return None
    why = shape_obstacle(config.hidden_size // config.num_heads, config.block_size)
    if why:
        return f"attention is computed without the native kernel, which {why}, the model's"
    if not is_there():
        return "attention is computed without the native kernel"
    return None
