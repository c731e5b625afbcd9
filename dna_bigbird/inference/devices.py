"""Where a bundle is computed, and by which attention backend."""

import torch

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.errors import InputError
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
    slow = None
    for module in bundle.model.modules():  # an ensemble has several encoders
        if isinstance(module, Encoder):
            module.set_backend(name)
            if device.type == "cpu" and name == "auto":
                slow = module.without_native()
    return slow and f"attention takes several times longer than it could: {slow}"
