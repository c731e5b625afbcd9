"""Longformer folders of the Hugging Face library: settings and weights under BigBird's names.

Below the heads Longformer has those names, and global projections; its heads are RoBERTa's.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.huggingface import settings
from dna_bigbird.bundles.huggingface.settings import (
    ACTIVATIONS,
    TOKEN_IDS,
    activation_name,
    check_class,
    known_name,
    read_settings,
)
from dna_bigbird.bundles.huggingface.short_encoders import ROBERTA_HEAD
from dna_bigbird.bundles.huggingface.tensor_names import (
    CLASSIFIER,
    SPANS,
    library_names,
    library_parts,
    plain_names,
    with_global,
)
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.models.attention_config import LongformerConfig
from dna_bigbird.models.config import EncoderConfig

MODEL_TYPE = "longformer"
AS_BIGBIRD = {
    "LongformerModel": "BigBirdModel",
    "LongformerForMaskedLM": "BigBirdForMaskedLM",
    "LongformerForSequenceClassification": CLASSIFIER,
    "LongformerForQuestionAnswering": SPANS,
}
"""BigBird's class with the same heads, by the class of Longformer."""
FIELDS = {
    "vocab_size": ("vocab_size", 30522),
    "hidden_size": ("hidden_size", 768),
    "num_layers": ("num_hidden_layers", 12),
    "num_heads": ("num_attention_heads", 12),
    "ffn_size": ("intermediate_size", 3072),
    "num_segments": ("type_vocab_size", 2),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "norm_eps": ("layer_norm_eps", 1e-12),
    "init_std": ("initializer_range", 0.02),
}
"""Our field: the library's name, and what it means there if it is absent."""
WINDOW, POSITIONS, PAD = "attention_window", "max_position_embeddings", "pad_token_id"
HEAD_ACTIVATION = "gelu"
"""Of the head for masked tokens, also if the encoder has another one."""
TABLE = "embeddings.position_embeddings.weight"
RENAMED = ROBERTA_HEAD | {
    "qa_outputs.": "qa_classifier.qa_outputs.",
    "pooler.dense.": "pooler.",
}
"""Beginnings of names of Longformer, and of BigBird."""


def longformer_config(config: Mapping[str, Any], plan: str | None, source: str) -> EncoderConfig:
    """Return our settings of the model that a config.json describes."""
    check_class(config, source, tuple(AS_BIGBIRD))
    if plan is not None:
        raise InputError(f"--plan {plan}: a Longformer has no random blocks")
    act = known_name(config, "hidden_act", "gelu", ACTIVATIONS, source)
    values = {ours: config.get(theirs, default) for ours, (theirs, default) in FIELDS.items()}
    rows, unused = config.get(POSITIONS, 512), unused_positions(config)
    if not isinstance(rows, int) or rows <= unused:
        raise InputError(
            f"{source}: {POSITIONS} is {shortened(repr(rows))}; expected more than {unused}, the rows up to "
            f"{PAD}, which no token has"
        )
    values |= {
        "attention": "longformer",
        "activation": ACTIVATIONS[act],
        "max_tokens": rows - unused,
        "longformer": longformer_settings(config, values["num_layers"], source),
    }
    return read_settings(EncoderConfig, values, source)


def unused_positions(config: Mapping[str, Any]) -> int:
    """Return the rows at the start of the position table that no token has: up to the padding's."""
    pad_id = config.get(PAD)
    return 1 + (int(pad_id) if pad_id is not None else 1)


def longformer_settings(config: Mapping[str, Any], num_layers: Any, source: str) -> dict:
    """Return our windows: half of the library's, which count both sides."""
    both = config.get(WINDOW, 512)
    windows = both if isinstance(both, list) else [both]
    are_even = all(type(each) is int and each > 0 and each % 2 == 0 for each in windows)
    if not are_even or len(windows) not in ((num_layers,) if isinstance(both, list) else (1,)):
        raise InputError(
            f"{source}: {WINDOW} is {shortened(ascii(both))}; expected an even number, or one per layer "
            f"({num_layers})"
        )
    sides = [each // 2 for each in windows]
    if len(set(sides)) <= 1:
        return {"window_tokens": sides[0]} if sides else {}
    return {"windows": sides}


def plain_longformer(tensors: Mapping[str, Tensor], unused: int, source: str) -> dict[str, Tensor]:
    """Return the tensors under BigBird's plain names, without the positions that no token has."""
    short = {name.removeprefix(f"{MODEL_TYPE}."): x for name, x in tensors.items()}
    plain = {}
    for name, tensor in plain_names(short).items():
        start = next((start for start in RENAMED if name.startswith(start)), "")
        plain[RENAMED.get(start, "") + name.removeprefix(start)] = tensor
    if TABLE not in plain:
        raise InputError(f"{source}: no tensor {TABLE}; expected those of Longformer")
    if plain[TABLE].dim():
        plain[TABLE] = plain[TABLE][unused:]
    return plain


ONLY = {
    **settings.ONLY,
    "qkv_bias": (True, "its projections have biases"),
    "scale_embeddings": (False, "it does not scale word embeddings"),
}
"""The only value of our fields that the library's Longformer has, and why."""


def library_windows(own: LongformerConfig, num_layers: int) -> list[int]:
    """Return the library's windows, one per layer."""
    return [2 * own.window_of(layer) for layer in range(num_layers)]


def longformer_folder(
    model: nn.Module,
    config: BundleConfig,
    as_class: str,
    token_ids: Mapping[str, int],
    source: str,
) -> tuple[dict[str, Any], dict[str, Tensor], list[str]]:
    """Return config.json and tensors of a folder, and what the library would not compute."""
    encoder = config.encoder
    heads = getattr(model, "heads", ())
    left_out = [head for head in ("nsp", "pooler") if head in heads and "mlm" in heads]
    if left_out:
        as_class = "BigBirdForMaskedLM"
    name = next(ours for ours, theirs in AS_BIGBIRD.items() if theirs == as_class)
    check_longformer(encoder, source, has_mlm=name == "LongformerForMaskedLM")
    kept = config.huggingface or {}
    ids = {**token_ids, **{name: kept[name] for name in TOKEN_IDS if name in kept}}
    unused = unused_positions(ids)
    written = {
        "architectures": [name],
        "model_type": MODEL_TYPE,
        "hidden_act": activation_name(encoder, kept),
        **{theirs: getattr(encoder, ours) for ours, (theirs, _) in FIELDS.items()},
        POSITIONS: encoder.max_tokens + unused,
        WINDOW: library_windows(encoder.longformer, encoder.num_layers),
        **ids,
        "tie_word_embeddings": True,
        "dtype": "float32",
    }
    state = {
        key: tensor
        for key, tensor in model.state_dict().items()
        if not key.startswith(tuple(f"{head}." for head in left_out))
    }
    tensors = _library_tensors(state, unused, is_bare=name == "LongformerModel")
    different = [
        f"the head {head} is left out (the library's Longformer has none)" for head in left_out
    ]
    return written, tensors, different


def check_longformer(encoder: EncoderConfig, source: str, *, has_mlm: bool) -> None:
    """Raise InputError, naming the setting, if the library's Longformer cannot hold the model."""
    other = settings.not_held(encoder, ONLY) + dilated(encoder)
    if has_mlm and encoder.activation != HEAD_ACTIVATION:
        other.append(
            f"activation is {encoder.activation} (its head for masked tokens has {HEAD_ACTIVATION})"
        )
    settings.refuse(other, "Longformer", source)


def dilated(encoder: EncoderConfig) -> list[str]:
    """Return what the library lacks if windows are dilated."""
    dilations = encoder.longformer.dilations
    if all(each == 1 for each in dilations):
        return []
    return [f"longformer.dilations is {list(dilations)} (its windows have no gaps)"]


def _library_tensors(
    state: Mapping[str, Tensor], unused: int, *, is_bare: bool
) -> dict[str, Tensor]:
    begin = {theirs: ours for ours, theirs in RENAMED.items()}
    whole = with_global(state)
    table = whole["encoder.position.weight"]
    whole["encoder.position.weight"] = torch.cat([table.new_zeros(unused, table.shape[1]), table])
    tensors = {}
    for name, part in library_parts(whole, library_names):
        start = next((start for start in begin if name.startswith(start)), "")
        own = begin.get(start, "") + name.removeprefix(start)
        is_above = own.startswith(("lm_head.", "classifier.", "qa_outputs."))
        tensors[own if is_bare or is_above else f"{MODEL_TYPE}.{own}"] = part
    return tensors
