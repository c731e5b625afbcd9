"""The weights of a BigBird-Pegasus under the library's names and under ours."""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from dna_bigbird.errors import InputError
from dna_bigbird.models.summarizer import Summarizer

TABLES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
"""Four names of the word table."""
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
BIAS = "final_logits_bias"
_OUTSIDE = {
    "encoder.word.weight": TABLES[0],
    "encoder.position.weight": POSITIONS[0],
    "decoder.position.weight": POSITIONS[1],
    "encoder.norm.weight": "model.encoder.layernorm_embedding.weight",
    "encoder.norm.bias": "model.encoder.layernorm_embedding.bias",
    "decoder.norm.weight": "model.decoder.layernorm_embedding.weight",
    "decoder.norm.bias": "model.decoder.layernorm_embedding.bias",
    "logits_bias": BIAS,
}
_BOTH = {
    "attention_norm": ("self_attn_layer_norm",),
    "ffn_in": ("fc1",),
    "ffn_out": ("fc2",),
    "ffn_norm": ("final_layer_norm",),
}
_PARTS = {
    "encoder.layers": _BOTH
    | {
        "attention.qkv": tuple(f"self_attn.self.{part}" for part in ("query", "key", "value")),
        "attention.output": ("self_attn.output",),
    },
    "decoder.layers": _BOTH
    | {
        "attention.qkv": tuple(f"self_attn.{part}_proj" for part in "qkv"),
        "attention.output": ("self_attn.out_proj",),
    },
    "decoder.cross": {
        "query": ("encoder_attn.q_proj",),
        "key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
        "output": ("encoder_attn.out_proj",),
        "norm": ("encoder_attn_layer_norm",),
    },
}


def pegasus_names(ours: str) -> tuple[str, ...]:
    """Return the library's tensors whose rows make up one of ours.

    Example:
        >>> pegasus_names("decoder.cross.3.key_value.weight")[1]
        'model.decoder.layers.3.encoder_attn.v_proj.weight'
    """
    if ours in _OUTSIDE:
        return (_OUTSIDE[ours],)
    side, group, layer, *module, suffix = ours.split(".")
    parts = _PARTS[f"{side}.{group}"][".".join(module)]
    return tuple(f"model.{side}.layers.{layer}.{part}.{suffix}" for part in parts)


def untie_pegasus(tensors: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """Return the tensors with one word table, one position table if both are equal, and the bias of
    the logits as a vector, if it is not zero.

    Raises:
        InputError: If the word tables differ; there is one here.
    """
    plain = dict(tensors)
    tables = {name: plain.pop(name) for name in TABLES if name in plain}
    if tables:
        first, *others = tables
        for name in others:
            if not _equal(tables[name], tables[first]):
                raise InputError(
                    f"{source}: {name} differs from {first}; only tied word tables are read"
                )
        plain[TABLES[0]] = tables[first]
    if _equal(plain.get(POSITIONS[0]), plain.get(POSITIONS[1])):
        del plain[POSITIONS[1]]
    bias = plain.pop(BIAS, None)
    if bias is not None and bool((bias != 0).any()):
        plain[BIAS] = bias.flatten()
    return plain


def _equal(a: Tensor | None, b: Tensor | None) -> bool:
    return a is not None and b is not None and a.shape == b.shape and bool(torch.equal(a, b))


def layers_of(tensors: Mapping[str, Tensor], side: str) -> int:
    """Return how many layers of 'encoder' or 'decoder' have a tensor."""
    matches = map(re.compile(rf"model\.{side}\.layers\.(\d+)\.").match, tensors)
    return len({layer[1] for layer in matches if layer})


def pegasus_tensors(model: Summarizer) -> dict[str, Tensor]:
    """Return the tensors that the library stores; what is shared here and not there, twice."""
    state = dict(model.state_dict())
    layers, own = len(model.decoder.cross), model.decoder
    copies = {}
    if own.layers is None:
        copies |= {f"decoder.layers.{i}.": f"encoder.layers.{i}." for i in range(layers)}
        copies["decoder.norm."] = "encoder.norm."
    if own.position is None:
        copies["decoder.position."] = "encoder.position."
    for new, old in copies.items():
        for name in [name for name in state if name.startswith(old)]:
            state[name.replace(old, new, 1)] = state[name]
    tensors = {}
    for ours, tensor in state.items():
        names = pegasus_names(ours)
        for name, part in zip(names, tensor.chunk(len(names)), strict=True):
            part = part[None] if name == BIAS else part
            tensors[name] = part.detach().cpu().contiguous().clone()
    return tensors
