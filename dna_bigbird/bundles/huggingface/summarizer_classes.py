"""Classes of the Hugging Face library that become summarizers, and what their config.json says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.huggingface.tensor_names import library_parts, with_global
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import read_json
from dna_bigbird.models.stored_settings import is_finite
from dna_bigbird.models.summarizer import Summarizer

# How the library's `generate` searches for summaries, as options of our task.

NAMES = {
    "beam_size": ("num_beams", int),
    "length_penalty": ("length_penalty", float),
    "early_stopping": ("early_stopping", bool),
    "min_target_tokens": ("min_new_tokens", int),
    "no_repeat_tokens": ("no_repeat_ngram_size", int),
    "first_id": ("forced_bos_token_id", int),
}
"""Options of our search: the library's name, and its type."""


def search_options(
    folder: Path, config: Mapping[str, Any], end_id: int, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options with which our search repeats the library's `generate` on this folder."""
    # What the folder does not say is left to our defaults; `defaults` are the library's of this
    # class.
    path = folder / "generation_config.json"
    options = {**config, **read_json(path)} if path.is_file() else {**defaults, **config}
    settings: dict[str, Any] = {"length_formula": "library"}
    for ours, (theirs, number_type) in NAMES.items():
        value = options.get(theirs)
        if value is None:
            continue
        is_number = is_finite(value) and (number_type is float or isinstance(value, int))
        if not (isinstance(value, bool) if number_type is bool else is_number):
            raise InputError(
                f"{folder}: {theirs} of the search is {shortened(ascii(value))}, expected {number_type.__name__}"
            )
        settings[ours] = number_type(value)
    # The library's lengths count the start token.
    limits = [(options.get("max_new_tokens"), 0), (options.get("max_length"), 1)]
    longest = next((v - less for v, less in limits if isinstance(v, int) and v > less + 1), None)
    if longest is not None:
        settings["max_target_tokens"] = longest
    least = options.get("min_length")
    if isinstance(least, int) and least > 1:
        settings["min_target_tokens"] = max(settings.get("min_target_tokens", 0), least - 1)
    forced_id = options.get("forced_eos_token_id")
    if forced_id not in (None, end_id):
        raise InputError(
            f"{folder}: forced_eos_token_id is {shortened(ascii(forced_id))}; only the end token, "
            f"{end_id}, is read"
        )
    return settings | {"forced_end": forced_id is not None}


TOKENS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")


def generation_config(config: BundleConfig, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for which `generate` repeats our search; none if it cannot."""
    options = config.options
    if getattr(options, "length_formula", "") != "library":
        return {}
    defaults = {field.name: field.default for field in fields(options)}
    settings = {
        theirs: getattr(options, ours)
        for ours, (theirs, _) in NAMES.items()
        if ours in ("beam_size", "length_penalty") or getattr(options, ours) != defaults[ours]
    }
    settings["max_new_tokens"] = options.max_target_tokens
    if options.forced_end:
        settings["forced_eos_token_id"] = config.head.end_id
    return settings | {name: written[name] for name in TOKENS if name in written}


Fields = Mapping[str, tuple[str, Any]]
"""Our setting: the library's name, and what it means there if it is absent."""

_SIZES = {
    "vocab_size": ("vocab_size", 50265),
    "hidden_size": ("d_model", 1024),
    "num_layers": ("encoder_layers", 12),
    "num_heads": ("encoder_attention_heads", 16),
    "ffn_size": ("encoder_ffn_dim", 4096),
    "dropout": ("dropout", 0.1),
    "init_std": ("init_std", 0.02),
}
_DECODER = {
    "decoder_layers": ("decoder_layers", 12),
    "decoder_heads": ("decoder_attention_heads", 16),
    "decoder_ffn_size": ("decoder_ffn_dim", 4096),
    "start_id": ("decoder_start_token_id", 2),
    "end_id": ("eos_token_id", 2),
}
_POST_NORM = {
    "norm_first": False,
    "norm_eps": 1e-5,
    "num_segments": 0,
    "qkv_bias": True,
    "output_bias": True,
}


@dataclass(frozen=True)
class SummarizerClass:
    """A class for conditional generation.

    Attributes:
        name, base: The class, and the one without the last layer, whose word table is that layer here.
        encoder, decoder: Settings of `EncoderConfig` and `SummaryHead`.
        only: Settings of `EncoderConfig` that the library has no choice of.
        attention: The encoder's: 'bigbird', 'full' or 'longformer'.
        activation: What an absent activation_function means.
        prefix: Of the names of weights below the last layer.
        unused_positions: Rows at the start of both position tables that no token has.
        source_form: Option of the summarization task: special tokens around a document.
        pad_id: What an absent pad_token_id means.
        search: Settings of `generate` that a config.json has if it does not name them.
    """

    model_type: str
    name: str
    base: str
    encoder: Fields
    decoder: Fields
    only: Mapping[str, Any]
    attention: str
    activation: str = "gelu"
    prefix: str = "model."
    unused_positions: int = 0
    source_form: str = "cls_sep"
    pad_id: int = 1
    search: Mapping[str, Any] = field(default_factory=dict)


PEGASUS = SummarizerClass(
    "bigbird_pegasus",
    "BigBirdPegasusForConditionalGeneration",
    "",
    encoder={
        "vocab_size": ("vocab_size", 96103),
        "hidden_size": ("d_model", 1024),
        "num_layers": ("encoder_layers", 16),
        "num_heads": ("encoder_attention_heads", 16),
        "ffn_size": ("encoder_ffn_dim", 4096),
        "max_tokens": ("max_position_embeddings", 4096),
        "block_size": ("block_size", 64),
        "num_random": ("num_random_blocks", 3),
        "dropout": ("dropout", 0.1),
        "init_std": ("init_std", 0.02),
        "qkv_bias": ("use_bias", False),
        "output_bias": ("use_bias", False),
        "scale_embeddings": ("scale_embedding", True),
    },
    decoder=_DECODER | {"decoder_layers": ("decoder_layers", 16), "end_id": ("eos_token_id", 1)},
    only={"norm_first": True, "norm_eps": 1e-5, "num_segments": 0},
    attention="bigbird",
    activation="gelu_new",
    source_form="end",
    pad_id=0,
)
BART = SummarizerClass(
    "bart",
    "BartForConditionalGeneration",
    "BartModel",
    encoder=_SIZES
    | {
        "max_tokens": ("max_position_embeddings", 1024),
        "scale_embeddings": ("scale_embedding", False),
    },
    decoder=_DECODER,
    only=_POST_NORM,
    attention="full",
    unused_positions=2,
    search={"forced_eos_token_id": 2},
)
LED = SummarizerClass(
    "led",
    "LEDForConditionalGeneration",
    "LEDModel",
    encoder=_SIZES | {"max_tokens": ("max_encoder_position_embeddings", 16384)},
    decoder=_DECODER | {"decoder_positions": ("max_decoder_position_embeddings", 1024)},
    only=_POST_NORM | {"scale_embeddings": False},
    attention="longformer",
    prefix="led.",
)
CLASSES = {each.model_type: each for each in (PEGASUS, BART, LED)}
"""By `model_type` of config.json."""


# The weights of a summarizer under the library's names and under ours.

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
_DECODER_NAMES = {
    "decoder.layers": _BOTH | _PROJECTIONS,
    "decoder.cross": {
        "query": ("encoder_attn.q_proj",),
        "key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
        "output": ("encoder_attn.out_proj",),
        "norm": ("encoder_attn_layer_norm",),
    },
}
_WORDS = ("query", "key", "value")
_ENCODER_NAMES = {
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
    groups = _DECODER_NAMES | {"encoder.layers": _BOTH | _ENCODER_NAMES[of.attention]}
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
    for ours in [name for name in state if name.endswith(".position.weight")]:
        unused = state[ours].new_zeros(of.unused_positions, state[ours].shape[1])
        state[ours] = torch.cat([unused, state[ours]])
    tensors = dict(library_parts(state, lambda ours: summarizer_names(ours, of)))
    return tensors | ({BIAS: tensors[BIAS][None]} if BIAS in tensors else {})
