"""The weights of a summarizer under the library's names and under ours."""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from dna_bigbird.bundles.huggingface.summarizer_classes import SummarizerClass
from dna_bigbird.bundles.huggingface.tensor_names import with_global
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.summarizer import Summarizer

TABLES = (
    "shared.weight",
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
)
"""Names of the word table below the prefix."""
LAST_LAYER = "lm_head.weight"
"""Its name as the last layer, which has no prefix."""
POSITIONS = ("encoder.embed_positions.weight", "decoder.embed_positions.weight")
BIAS = "final_logits_bias"
_OUTSIDE = {
    "encoder.word.weight": TABLES[0],
    "encoder.position.weight": POSITIONS[0],
    "decoder.position.weight": POSITIONS[1],
    "encoder.norm.weight": "encoder.layernorm_embedding.weight",
    "encoder.norm.bias": "encoder.layernorm_embedding.bias",
    "decoder.norm.weight": "decoder.layernorm_embedding.weight",
    "decoder.norm.bias": "decoder.layernorm_embedding.bias",
}
_BOTH = {
    "attention_norm": ("self_attn_layer_norm",),
    "ffn_in": ("fc1",),
    "ffn_out": ("fc2",),
    "ffn_norm": ("final_layer_norm",),
}
_PROJECTIONS = {
    "attention.qkv": tuple(f"self_attn.{part}_proj" for part in "qkv"),
    "attention.output": ("self_attn.out_proj",),
}
_DECODER = {
    "decoder.layers": _BOTH | _PROJECTIONS,
    "decoder.cross": {
        "query": ("encoder_attn.q_proj",),
        "key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
        "output": ("encoder_attn.out_proj",),
        "norm": ("encoder_attn_layer_norm",),
    },
}
_WORDS = ("query", "key", "value")
_ENCODER = {
    "bigbird": {
        "attention.qkv": tuple(f"self_attn.self.{part}" for part in _WORDS),
        "attention.output": ("self_attn.output",),
    },
    "full": _PROJECTIONS,
    "longformer": {
        "attention.qkv": tuple(f"self_attn.longformer_self_attn.{part}" for part in _WORDS),
        "attention.global_qkv": tuple(
            f"self_attn.longformer_self_attn.{part}_global" for part in _WORDS
        ),
        "attention.output": ("self_attn.output",),
    },
}
"""Parts of a layer of the encoder, by the attention of the class."""


def summarizer_names(ours: str, of: SummarizerClass) -> tuple[str, ...]:
    """Return the library's tensors whose rows make up one of ours."""
    if ours == "logits_bias":
        return (BIAS,)
    if ours in _OUTSIDE:
        return (of.prefix + _OUTSIDE[ours],)
    side, group, layer, *module, suffix = ours.split(".")
    groups = _DECODER | {"encoder.layers": _BOTH | _ENCODER[of.attention]}
    parts = groups[f"{side}.{group}"][".".join(module)]
    return tuple(f"{of.prefix}{side}.layers.{layer}.{part}.{suffix}" for part in parts)


def untied(tensors: Mapping[str, Tensor], of: SummarizerClass, source: str) -> dict[str, Tensor]:
    """Return the tensors with one word table, shared ones once; InputError if the tables differ."""
    # One position table if both are equal; the bias of the logits as a vector, if it is not zero.
    # Position tables lose the rows that no token has.
    plain = dict(tensors)
    if not any(name.startswith(of.prefix) for name in plain):  # a model without the last layer
        plain = {n if n in (LAST_LAYER, BIAS) else of.prefix + n: x for n, x in plain.items()}
    names = (*(of.prefix + name for name in TABLES), LAST_LAYER)
    tables = {name: plain.pop(name) for name in names if name in plain}
    if tables:
        first, *others = tables
        for name in others:
            if not _equal(tables[name], tables[first]):
                raise InputError(
                    f"{source}: {name} differs from {first}; only tied word tables are read"
                )
        plain[names[0]] = tables[first]
    positions = [of.prefix + name for name in POSITIONS]
    for name in positions:
        if name in plain and plain[name].dim():
            plain[name] = plain[name][of.unused_positions :]
    if _equal(*(plain.get(name) for name in positions)):
        del plain[positions[1]]
    bias = plain.pop(BIAS, None)
    if bias is not None and bool((bias != 0).any()):
        plain[BIAS] = bias.flatten()
    return plain


def _equal(a: Tensor | None, b: Tensor | None) -> bool:
    return a is not None and b is not None and a.shape == b.shape and bool(torch.equal(a, b))


def layers_of(tensors: Mapping[str, Tensor], of: SummarizerClass, side: str) -> int:
    """Return how many layers of 'encoder' or 'decoder' have a tensor."""
    matches = map(re.compile(rf"{re.escape(of.prefix)}{side}\.layers\.(\d+)\.").match, tensors)
    return len({layer[1] for layer in matches if layer})


def summarizer_tensors(model: Summarizer, of: SummarizerClass) -> dict[str, Tensor]:
    """Return the tensors that the library stores; what is shared here and not there, twice."""
    state = model.state_dict()
    state = with_global(state) if of.attention == "longformer" else dict(state)
    layers, own = len(model.decoder.cross), model.decoder
    copies = {}
    if own.layers is None:
        copies |= {f"decoder.layers.{i}.": f"encoder.layers.{i}." for i in range(layers)}
        copies["decoder.norm."] = "encoder.norm."
    if own.position is None:
        copies["decoder.position."] = "encoder.position."
    for new, old in copies.items():
        for name in [name for name in state if name.startswith(old)]:
            if ".global_qkv." not in name:  # the decoder has no global tokens
                state[name.replace(old, new, 1)] = state[name]
    tensors = {}
    for ours, tensor in state.items():
        if ours.endswith(".position.weight"):
            unused = tensor.new_zeros(of.unused_positions, tensor.shape[1])
            tensor = torch.cat([unused, tensor])
        names = summarizer_names(ours, of)
        for name, part in zip(names, tensor.chunk(len(names)), strict=True):
            part = part[None] if name == BIAS else part
            tensors[name] = part.detach().cpu().contiguous().clone()
    return tensors
