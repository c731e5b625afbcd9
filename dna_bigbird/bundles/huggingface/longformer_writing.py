"""Our models with attention longformer as folders of the Hugging Face library."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.huggingface import settings
from dna_bigbird.bundles.huggingface.longformer import (
    AS_BIGBIRD,
    FIELDS,
    HEAD_ACTIVATION,
    MODEL_TYPE,
    POSITIONS,
    RENAMED,
    WINDOW,
    unused_positions,
)
from dna_bigbird.bundles.huggingface.settings import ACTIVATIONS, TOKEN_IDS
from dna_bigbird.bundles.huggingface.tensor_names import library_names, with_global
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.longformer_config import LongformerConfig

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
    """Return config.json and tensors of a folder, and what the library would not compute.

    Args:
        as_class: BigBird's class with the model's heads.
        token_ids: Values of `TOKEN_IDS`.
        source: What to call the model in messages.

    Raises:
        InputError: If the library's Longformer cannot hold the model.
    """
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
    act = kept.get("hidden_act")
    if ACTIVATIONS.get(act) != encoder.activation:
        act = next(k for k, v in ACTIVATIONS.items() if v == encoder.activation)
    written = {
        "architectures": [name],
        "model_type": MODEL_TYPE,
        "hidden_act": act,
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
    """Raise InputError, naming the setting, if the library's Longformer has no such layers or weights.

    Args:
        has_mlm: The model has the head for masked tokens.
    """
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
    tensors = {}
    for ours, tensor in with_global(state).items():
        if ours == "encoder.position.weight":
            tensor = torch.cat([tensor.new_zeros(unused, tensor.shape[1]), tensor])
        names = library_names(ours)
        for name, part in zip(names, tensor.chunk(len(names)), strict=True):
            start = next((start for start in begin if name.startswith(start)), "")
            own = begin.get(start, "") + name.removeprefix(start)
            is_above = own.startswith(("lm_head.", "classifier.", "qa_outputs."))
            full = own if is_bare or is_above else f"{MODEL_TYPE}.{own}"
            tensors[full] = part.detach().cpu().contiguous().clone()
    return tensors
