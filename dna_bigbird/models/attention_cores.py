"""The attention of one layer of an encoder, with fresh weights, from the encoder's settings."""

from typing import Any

from dna_bigbird.attention.attend import BACKENDS
from dna_bigbird.attention.cores import BigBirdItc, BlockAttention, Full, Longformer, Performer
from dna_bigbird.attention.cores.projected import ProjectedAttention
from dna_bigbird.attention.favor_features import Favor
from dna_bigbird.attention.kernels.native.library import is_there, library
from dna_bigbird.attention.kernels.native.operator import shape_obstacle
from dna_bigbird.attention.kernels.triton.operator import head_dim_obstacle, package_obstacle
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.models.config import EncoderConfig

WITHOUT_BLOCKS = ("auto", "dense")
"""Backends of an attention without blocks, by the names that commands have; 'auto' is linear in the length."""


def check_backend(config: EncoderConfig, name: str) -> None:
    """Raise an error if a backend cannot compute an encoder's attention; builds 'native' now."""
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
    """Return why 'auto' computes on a CPU without the native kernel (slower), or None."""
    # Also None if the attention has no blocks: there is no kernel for it then.
    if not config.has_blocks:
        return None
    if why := native_obstacle(config):
        return f"the native kernel {why}, the model's"
    return None if is_there() else "the native kernel is not built (dna-bigbird doctor)"


def native_obstacle(config: EncoderConfig) -> str | None:
    """Return what the native kernel cannot compute of an encoder, or None."""
    return shape_obstacle(config.hidden_size // config.num_heads, config.block_size)


LAYERS_PER_SEED = 1000
"""Seeds of the layers of a model: no two models with other seeds have one in common."""


def attention_core(config: EncoderConfig, layer: int) -> ProjectedAttention:
    """Return the attention of a layer (from 0) of an encoder with one stream."""
    if config.attention == "longformer":
        return _longformer(config, layer)
    if config.attention == "performer":
        return _performer(config, layer)
    return block_core(config, layer)


def block_core(config: EncoderConfig, layer: int) -> BlockAttention:
    """Return the attention of a layer by blocks; ValueError with an attention that has none."""
    if not config.has_blocks:
        name = config.attention
        drawn = "" if name == "performer" else f"; plot-attention --pattern {name} draws it"
        raise ValueError(f"attention {name} has no blocks{drawn}")
    shared = {
        **_projections(config),
        "block_size": config.block_size,
        "dropout_p": config.attention_dropout,
    }
    if config.attention == "full":
        return Full(config.hidden_size, config.num_heads, **shared)
    uniform = config.random_plan == "uniform"
    return BigBirdItc(
        config.hidden_size,
        config.num_heads,
        num_random=config.num_random,
        plan=config.random_plan,
        seed=_seed_of_layer(config.pattern_seed, layer) if uniform else layer,
        window_blocks=config.window_blocks,
        global_blocks=config.global_blocks,
        table_tokens=config.max_tokens,
        **shared,
    )


def longformer_pattern(config: EncoderConfig, layer: int) -> LongformerPattern:
    """Return the window and the dilation of every head of a layer of Longformer."""
    own = config.longformer
    dilations = own.dilations_of(layer, config.num_heads)
    return LongformerPattern(own.window_of(layer), dilations if own.dilations else (1,))


def _longformer(config: EncoderConfig, layer: int) -> Longformer:
    return Longformer(
        config.hidden_size,
        config.num_heads,
        longformer_pattern(config, layer),
        separate_global=config.longformer.separate_global,
        dropout_p=config.attention_dropout,
        **_projections(config),
    )


def _performer(config: EncoderConfig, layer: int) -> Performer:
    own = config.performer
    return Performer(
        config.hidden_size,
        config.num_heads,
        num_features=own.num_features or None,
        favor=Favor(own.kernel),
        rows=own.rows,
        norms=own.norms,
        seed=_seed_of_layer(own.seed, layer),
        redraw_interval=own.redraw_interval or None,
        **_projections(config),
    )


def _projections(config: EncoderConfig) -> dict[str, Any]:
    return {
        "qkv_bias": config.qkv_bias,
        "output_bias": config.output_bias,
        "rotary_base": config.rotary_base if config.positions == "rotary" else None,
        "qk_norm": config.qk_norm,
        "value_embeddings": config.value_embeddings,
        "head_gates": config.head_gates,
    }


def _seed_of_layer(seed: int, layer: int) -> int:
    return seed * LAYERS_PER_SEED + layer


def etc_pattern(settings: EtcConfig) -> EtcPattern:
    """Return the attention pattern of an encoder."""
    return EtcPattern(
        radius=settings.radius,
        local_mode=settings.local_mode,
        max_distance=settings.max_distance,
        hard_g2l=settings.hard_g2l,
        hard_l2g=settings.hard_l2g,
    )
