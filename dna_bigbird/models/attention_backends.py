"""Which backends compute the attention of an encoder, and what prevents one."""

from dna_bigbird.attention.attend import BACKENDS
from dna_bigbird.attention.kernels.native.library import is_there, library
from dna_bigbird.attention.kernels.native.operator import shape_obstacle
from dna_bigbird.attention.kernels.triton.operator import head_dim_obstacle, package_obstacle
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig

WITHOUT_BLOCKS = ("auto", "dense")
"""Backends of an attention without blocks, by the names that commands have; 'auto' is linear in the length."""


def check_backend(config: EncoderConfig, name: str) -> None:
    """Raise an error if a backend cannot compute the attention of an encoder.

    'native' is built now if it is not there.

    Raises:
        ValueError: If there is none of that name.
        InputError: If it computes block patterns and the attention has none, if it is 'native' or
            'triton' and cannot compute this model, or if 'native' cannot be built.
    """
    if name != "auto" and name not in BACKENDS:
        raise ValueError(f"backend must be one of auto, {', '.join(BACKENDS)}; got {name!r}")
    if not config.has_blocks:
        if name not in WITHOUT_BLOCKS:
            raise InputError(
                f"backend {name!r} computes block patterns; a model with attention "
                f"{config.attention} has {' and '.join(WITHOUT_BLOCKS)}"
            )
        return
    if name == "native":
        if why := native_obstacle(config):
            raise InputError(f"backend 'native' {why}, the model's")
        library()
    head_dim = config.hidden_size // config.num_heads
    if name == "triton" and (why := package_obstacle() or head_dim_obstacle(head_dim)):
        raise InputError(f"backend 'triton' {why}")


def without_native(config: EncoderConfig) -> str | None:
    """Return why 'auto' computes on a CPU without the native kernel, several times slower.

    None if it computes with it, or if the attention has no blocks: there is no kernel for it then.
    """
    if not config.has_blocks:
        return None
    if why := native_obstacle(config):
        return f"the native kernel {why}, the model's"
    return None if is_there() else "the native kernel is not built (dna-bigbird doctor)"


def native_obstacle(config: EncoderConfig) -> str | None:
    """Return what the native kernel cannot compute of an encoder, or None."""
    return shape_obstacle(config.hidden_size // config.num_heads, config.block_size)
