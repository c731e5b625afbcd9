"""Low-rank adaptation (LoRA, Hu et al. 2021): frozen matrices plus trained products of low rank."""

# O output size, I input size, R rank, K rows of a matrix that are adapted

import math

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dna_bigbird.attention.cores import Longformer, Performer
from dna_bigbird.models.encoder import Encoder, EncoderLayer
from dna_bigbird.models.etc_encoder import EtcLayer
from dna_bigbird.models.lora_config import LoraConfig

PARTS = ("query", "key", "value")
"""Of the rows of `qkv`, in their order."""


class LowRank(nn.Module):
    """W + scale * B A on some rows of W; B begins at 0, so the matrix begins as it was."""

    def __init__(
        self,
        rows: list[tuple[int, int]],
        size: int,
        rank: int,
        scale: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.rows, self.scale = rows, scale
        self.down = nn.ParameterList(
            torch.randn(rank, size, generator=generator) / math.sqrt(size) for _ in rows
        )
        self.up = nn.ParameterList(torch.zeros(last - first, rank) for first, last in rows)

    def forward(self, weight_OI: Tensor) -> Tensor:
        """Return the adapted matrix, (O, I)."""
        parts, done = [], 0
        for (first, last), down_RI, up_KR in zip(self.rows, self.down, self.up, strict=True):
            parts += [
                weight_OI[done:first],
                weight_OI[first:last] + self.scale * (up_KR @ down_RI),
            ]
            done = last
        return torch.cat([*parts, weight_OI[done:]])


def adapt(encoder: Encoder, config: LoraConfig, generator: torch.Generator) -> None:
    """Freeze an encoder and add trained products to the matrices of its layers, or a ValueError."""
    if not len(encoder.layers):
        raise ValueError(f"--lora.rank {config.rank}: the encoder has no layers to adapt")
    if config.rank > encoder.config.hidden_size:
        raise ValueError(
            f"--lora.rank {config.rank} is larger than the width {encoder.config.hidden_size} of the model"
        )
    if encoder.config.attention == "etc" and encoder.config.etc.sharing == "none":
        raise ValueError(
            f"--lora.rank {config.rank}: a model with --model.etc.sharing none is not adapted; train it "
            "whole (--lora.rank 0)"
        )
    freeze(encoder)
    scale = config.alpha / config.rank
    for layer in encoder.layers:
        for linear, rows in _adapted(layer, config):
            product = LowRank(rows, linear.in_features, config.rank, scale, generator)
            parametrize.register_parametrization(linear, "weight", product)


def freeze(module: nn.Module) -> None:
    """Keep all weights of a module as they are, and the random features of a Performer."""
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    for child in module.modules():
        if isinstance(child, Performer):
            child.redraw_interval = None


def merge(module: nn.Module) -> None:
    """Replace adapted matrices by plain ones of the same values."""
    for child in list(module.modules()):
        if parametrize.is_parametrized(child, "weight"):
            parametrize.remove_parametrizations(child, "weight", leave_parametrized=True)
            bias = child.bias
            del child.bias  # and after the weight again, as in a new layer
            child.register_parameter("bias", bias)


def _adapted(
    layer: EncoderLayer | EtcLayer, config: LoraConfig
) -> list[tuple[nn.Linear, list[tuple[int, int]]]]:
    """Return the adapted matrices of a layer with their adapted rows."""
    size = layer.attention.output.in_features
    rows = [
        (number * size, (number + 1) * size)
        for number, name in enumerate(PARTS)
        if name in config.targets
    ]
    attention = layer.attention
    qkvs, outputs, ffn = [attention.qkv], [attention.output], [layer.ffn_in, layer.ffn_out]
    if isinstance(layer, EtcLayer):  # what both streams share is None here
        qkvs.append(attention.global_qkv)
        outputs.append(attention.global_output)
        ffn += [layer.global_ffn_in, layer.global_ffn_out]
    if isinstance(attention, Longformer):
        qkvs.append(attention.global_qkv)
    chosen = [(qkv, rows) for qkv in qkvs if qkv is not None] if rows else []
    whole = outputs if "output" in config.targets else []
    whole = [*whole, *ffn] if "ffn" in config.targets else whole
    whole = [linear for linear in whole if linear is not None]
    return chosen + [(linear, [(0, linear.out_features)]) for linear in whole]
