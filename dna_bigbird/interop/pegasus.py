"""BigBird-Pegasus folders of the Hugging Face library as summarizers, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from dna_bigbird.datasets.text.registry import task_of_library_class
from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import read_json
from dna_bigbird.interop.pegasus_names import (
    BIAS,
    POSITIONS,
    layers_of,
    pegasus_names,
    pegasus_tensors,
    untie_pegasus,
)
from dna_bigbird.interop.settings import ACTIVATIONS, ATTENTION, differences
from dna_bigbird.interop.tensor_names import to_ours
from dna_bigbird.interop.weight_files import read_tensors
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.stored_settings import is_finite, settings_from
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.text_config import SummaryHead

MODEL_TYPE = "bigbird_pegasus"
CLASS = "BigBirdPegasusForConditionalGeneration"
NORM_EPS = 1e-5
"""The library has no setting for it."""
FIELDS = {
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
}
DECODER_FIELDS = {
    "decoder_layers": ("decoder_layers", 16),
    "decoder_heads": ("decoder_attention_heads", 16),
    "decoder_ffn_size": ("decoder_ffn_dim", 4096),
    "start_id": ("decoder_start_token_id", 2),
    "end_id": ("eos_token_id", 1),
}
"""Our field: the library's name, and what it means there if it is absent."""
SEARCH = {
    "beam_size": ("num_beams", int),
    "length_penalty": ("length_penalty", float),
    "early_stopping": ("early_stopping", bool),
    "min_target_tokens": ("min_new_tokens", int),
}
"""Options of our search: the library's name, and its type."""
KEPT = ("pad_token_id", "bos_token_id", "attention_dropout")
"""Without a place in our settings; a converted bundle keeps them for the way back."""


def read_pegasus(
    folder: Path, config: Mapping[str, Any], plan: str | None
) -> tuple[Summarizer, dict, dict[str, Any]]:
    """Read settings and weights of a folder.

    Args:
        config: Contents of its config.json.
        plan: As for `read_huggingface`.

    Returns:
        The model, what a bundle's config says of it, and options of the search.

    Raises:
        InputError: If a file is missing or damaged, or the model is one that we do not have.
    """
    source = str(folder / "config.json")
    _check_kind(config, source)
    _check_offset(folder)
    plain = untie_pegasus(read_tensors(folder), str(folder))
    encoder = _settings(EncoderConfig, _encoder_values(config, plan, source), source)
    values = {
        ours: config.get(theirs, default) for ours, (theirs, default) in DECODER_FIELDS.items()
    }
    values |= {
        "coupled": False,
        "share_positions": POSITIONS[1] not in plain,
        "logits_bias": BIAS in plain,
    }
    head = _settings(SummaryHead, values, source)
    for side, expected in (("encoder", encoder.num_layers), ("decoder", head.decoder_layers)):
        if (num_layers := layers_of(plain, side)) != expected:
            raise InputError(
                f"{source}: {side}_layers is {expected}, the weights have {num_layers}"
            )
    try:
        with torch.device("meta"):  # a config of any size costs nothing until the weights agree
            model = Summarizer(encoder, head)
    except (ValueError, RuntimeError) as error:
        raise InputError(f"{source}: it describes no model: {error}") from error
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    state = to_ours(plain, expected, str(folder), pegasus_names)
    model.to_empty(device="cpu").load_state_dict(state)
    described = {
        "task": task_of_library_class(CLASS).name,
        "encoder": stored_encoder(encoder),
        "head": asdict(head),
        "label_names": [],
        "huggingface": {name: config[name] for name in KEPT if name in config},
    }
    return model.eval(), described, _search(folder, config)


def _search(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which our search repeats the library's `generate` on this folder.

    What the folder does not say is left to our defaults.

    Raises:
        InputError: If a value has another type.
    """
    path = folder / "generation_config.json"
    options = {**config, **(read_json(path) if path.is_file() else {})}
    settings: dict[str, Any] = {
        "length_formula": "library",
        "source_form": "end",
        "max_source_tokens": config.get("max_position_embeddings", 4096),
    }
    for ours, (theirs, number_type) in SEARCH.items():
        value = options.get(theirs)
        if value is None:
            continue
        is_number = is_finite(value) and (number_type is float or isinstance(value, int))
        if not (isinstance(value, bool) if number_type is bool else is_number):
            raise InputError(
                f"{folder}: {theirs} of the search is {shortened(ascii(value))}, expected {number_type.__name__}"
            )
        settings[ours] = number_type(value)
    # The library's length counts the start token.
    limits = [(options.get("max_new_tokens"), 0), (options.get("max_length"), 1)]
    longest = next((v - less for v, less in limits if isinstance(v, int) and v > less + 1), None)
    return settings if longest is None else settings | {"max_target_tokens": longest}


def _settings(config_type: type, values: dict, source: str) -> Any:
    try:
        return settings_from(config_type, values)
    except ValueError as error:
        raise InputError(f"{source}: {error}") from error


def _check_kind(config: Mapping[str, Any], source: str) -> None:
    classes = config.get("architectures") or [CLASS]
    if classes != [CLASS]:
        raise InputError(
            f"{source}: architectures is {shortened(ascii(classes))}; of {MODEL_TYPE} only {CLASS} is read"
        )
    if config.get("tie_word_embeddings") is False:
        raise InputError(f"{source}: tie_word_embeddings is false; only tied word tables are read")
    for name in KEPT:
        value = config.get(name)
        if value is not None and not is_finite(value):
            raise InputError(f"{source}: {name} is {shortened(ascii(value))}, expected a number")


def _check_offset(folder: Path) -> None:
    """Raise InputError if a tokenizer shifts the ids of its vocabulary file."""
    path = folder / "tokenizer_config.json"
    offset = read_json(path).get("offset", 0) if path.is_file() else 0
    if offset:
        raise InputError(
            f"{path}: offset is {shortened(ascii(offset))}; only vocabularies whose ids are those of "
            "their file (offset 0) are read"
        )


def _encoder_values(config: Mapping[str, Any], plan: str | None, source: str) -> dict[str, Any]:
    attention_type = config.get("attention_type", "block_sparse")
    act = config.get("activation_function", "gelu_new")
    for name, value, known in (
        ("attention_type", attention_type, ATTENTION),
        ("activation_function", act, ACTIVATIONS),
    ):
        if not isinstance(value, str) or value not in known:
            raise InputError(
                f"{source}: {name} is {shortened(ascii(value))}, not one of {', '.join(known)}"
            )
    values = {ours: config.get(theirs, default) for ours, (theirs, default) in FIELDS.items()}
    values |= {
        "attention": ATTENTION[attention_type],
        "activation": ACTIVATIONS[act],
        "norm_first": True,
        "norm_eps": NORM_EPS,
        "num_segments": 0,
    }
    if attention_type == "block_sparse":
        # The library's encoder leaves attention weights whole there; the setting has no effect.
        return values | {"random_plan": plan or "huggingface", "attention_dropout": 0.0}
    if plan is not None:
        raise InputError(
            f"--plan {plan}: attention_type is {attention_type}, which has no random blocks"
        )
    return values | {"attention_dropout": config.get("attention_dropout", 0.0)}


def pegasus_folder(
    model: Summarizer, kept: Mapping[str, Any], source: str
) -> tuple[dict[str, Any], dict[str, torch.Tensor], list[str]]:
    """Return config.json and tensors of a folder, and what the library would compute differently.

    Args:
        kept: What a converted bundle keeps of the config it came from.
        source: What to call the model in messages.

    Raises:
        InputError: If the library has no such model.
    """
    encoder, decoder, head = model.encoder.config, model.decoder.config, model.head
    for name, value, expected in (
        ("norm_first", encoder.norm_first, True),
        ("norm_eps", encoder.norm_eps, NORM_EPS),
        ("num_segments", encoder.num_segments, 0),
        ("output_bias", encoder.output_bias, encoder.qkv_bias),
    ):
        if value != expected:
            raise InputError(
                f"{source}: {name} is {value}, that of the library's {CLASS} {expected}; it would "
                "compute something else"
            )
    written = {theirs: getattr(encoder, ours) for ours, (theirs, _) in FIELDS.items()}
    written |= {
        "architectures": [CLASS],
        "model_type": MODEL_TYPE,
        "is_encoder_decoder": True,
        "attention_type": next(k for k, v in ATTENTION.items() if v == encoder.attention),
        "activation_function": next(k for k, v in ACTIVATIONS.items() if v == encoder.activation),
        "attention_dropout": encoder.attention_dropout,
        "activation_dropout": 0.0,
        "pad_token_id": 0,
        "decoder_layers": decoder.num_layers,
        "decoder_attention_heads": decoder.num_heads,
        "decoder_ffn_dim": decoder.ffn_size,
        "decoder_start_token_id": head.start_id,
        "bos_token_id": head.start_id,
        "eos_token_id": head.end_id,
        "tie_word_embeddings": True,
        "dtype": "float32",
        **{name: kept[name] for name in KEPT if kept.get(name) is not None},
    }
    return written, pegasus_tensors(model), differences(encoder)
