"""Summarizers of the Hugging Face library (BigBird-Pegasus, BART, LED) as ours, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from dna_bigbird.bundles.huggingface.longformer import (
    WINDOW,
    dilated,
    library_windows,
    longformer_settings,
)
from dna_bigbird.bundles.huggingface.settings import (
    ACTIVATIONS,
    ATTENTION,
    check_numbers,
    differences,
    known_name,
    read_settings,
)
from dna_bigbird.bundles.huggingface.summarizer_classes import (
    BART,
    BIAS,
    CLASSES,
    LED,
    PEGASUS,
    POSITIONS,
    SummarizerClass,
    layers_of,
    search_options,
    summarizer_names,
    summarizer_tensors,
    untied,
)
from dna_bigbird.bundles.huggingface.tensor_names import to_ours
from dna_bigbird.bundles.huggingface.weight_files import read_tensors
from dna_bigbird.bundles.text_tasks import task_of_library_class
from dna_bigbird.bundles.weights import building
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import read_json
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.text_config import SummaryHead

KEPT = ("pad_token_id", "bos_token_id", "attention_dropout")
"""Without a counterpart in our settings; a converted bundle keeps them for the way back."""


def read_summarizer(
    folder: Path, config: Mapping[str, Any], plan: str | None
) -> tuple[Summarizer, dict, dict[str, Any]]:
    """Return a folder's model, what a bundle's config says of it, and options of the search."""
    source = str(folder / "config.json")
    of = CLASSES[config["model_type"]]
    _check_class(config, of, source)
    _check_offset(folder)
    plain = untied(read_tensors(folder), of, str(folder))
    encoder = read_settings(EncoderConfig, _encoder_values(config, of, plan, source), source)
    values = {ours: config.get(theirs, default) for ours, (theirs, default) in of.decoder.items()}
    values |= {
        "coupled": False,
        "share_positions": of.prefix + POSITIONS[1] not in plain,
        "logits_bias": BIAS in plain,
        "attention_dropout": config.get("attention_dropout", 0.0),
    }
    if values["share_positions"] or values.get("decoder_positions") == encoder.max_tokens:
        values["decoder_positions"] = 0
    head = read_settings(SummaryHead, values, source)
    for side, expected in (("encoder", encoder.num_layers), ("decoder", head.decoder_layers)):
        if (num_layers := layers_of(plain, of, side)) != expected:
            raise InputError(
                f"{source}: {side}_layers is {expected}, the weights have {num_layers}"
            )
    with building(source):
        model = Summarizer(encoder, head)
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    state = to_ours(plain, expected, str(folder), lambda ours: summarizer_names(ours, of))
    model.to_empty(device="cpu").load_state_dict(state)
    described = {
        "task": task_of_library_class(PEGASUS.name).name,
        "encoder": stored_encoder(encoder),
        "head": asdict(head),
        "label_names": [],
        "huggingface": {name: config[name] for name in KEPT if name in config},
    }
    search = search_options(folder, config, head.end_id, of.search)
    search |= {"source_form": of.source_form, "max_source_tokens": encoder.max_tokens}
    return model.eval(), described, search


def _check_class(config: Mapping[str, Any], of: SummarizerClass, source: str) -> None:
    classes = config.get("architectures") or [of.name]
    if classes not in ([of.name], [of.base]):
        only = " and ".join(filter(None, (of.name, of.base)))
        raise InputError(
            f"{source}: architectures is {shortened(ascii(classes))}; of {of.model_type} only {only} is read"
        )
    if config.get("tie_word_embeddings") is False:
        raise InputError(f"{source}: tie_word_embeddings is false; only tied word tables are read")
    check_numbers(config, KEPT, source)


def _check_offset(folder: Path) -> None:
    """Raise InputError if a tokenizer shifts the ids of its vocabulary file."""
    path = folder / "tokenizer_config.json"
    offset = read_json(path).get("offset", 0) if path.is_file() else 0
    if offset:
        raise InputError(
            f"{path}: offset is {shortened(ascii(offset))}; only vocabularies whose ids are those of "
            "their file (offset 0) are read"
        )


def _encoder_values(
    config: Mapping[str, Any], of: SummarizerClass, plan: str | None, source: str
) -> dict[str, Any]:
    act = known_name(config, "activation_function", of.activation, ACTIVATIONS, source)
    values = {ours: config.get(theirs, default) for ours, (theirs, default) in of.encoder.items()}
    values |= {**of.only, "activation": ACTIVATIONS[act], "attention": of.attention}
    if of is PEGASUS:
        attention_type = known_name(config, "attention_type", "block_sparse", ATTENTION, source)
        values["attention"] = ATTENTION[attention_type]
        if attention_type == "block_sparse":
            # The library's encoder leaves attention weights whole there; the setting has no effect.
            return values | {"random_plan": plan or "huggingface", "attention_dropout": 0.0}
    if plan is not None:
        raise InputError(
            f"--plan {plan}: attention is {values['attention']}, which has no random blocks"
        )
    if of is LED:
        values["longformer"] = longformer_settings(config, values["num_layers"], source)
    return values | {"attention_dropout": config.get("attention_dropout", 0.0)}


def class_for(encoder: EncoderConfig) -> SummarizerClass:
    """Return the library's class for a summarizer with this encoder."""
    if encoder.attention == "longformer":
        return LED
    return BART if encoder.attention == "full" and not encoder.norm_first else PEGASUS


def summarizer_folder(
    model: Summarizer, kept: Mapping[str, Any], source: str
) -> tuple[dict[str, Any], dict[str, torch.Tensor], list[str]]:
    """Return a folder's config.json and tensors, and what the library computes differently."""
    encoder, decoder, head = model.encoder.config, model.decoder.config, model.head
    of = class_for(encoder)
    expected = {**of.only}
    if of is PEGASUS:
        expected["output_bias"] = encoder.qkv_bias
    for name, value in expected.items():
        if getattr(encoder, name) != value:
            raise InputError(
                f"{source}: {name} is {getattr(encoder, name)}, that of the library's {of.name} {value}; "
                "it would compute something else"
            )
    written = {theirs: getattr(encoder, ours) for ours, (theirs, _) in of.encoder.items()}
    written |= {
        "architectures": [of.name],
        "model_type": of.model_type,
        "is_encoder_decoder": True,
        "activation_function": next(k for k, v in ACTIVATIONS.items() if v == encoder.activation),
        "attention_dropout": decoder.attention_dropout,
        "activation_dropout": 0.0,
        "pad_token_id": of.pad_id,
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
    if of is PEGASUS:
        written["attention_type"] = next(k for k, v in ATTENTION.items() if v == encoder.attention)
    if of is LED:
        if lacking := dilated(encoder):
            raise InputError(f"{source}: {lacking[0]}; that of the library's {of.name} is none")
        written[WINDOW] = library_windows(encoder.longformer, encoder.num_layers)
    longest = head.decoder_positions or encoder.max_tokens
    if "decoder_positions" in of.decoder:
        written[of.decoder["decoder_positions"][0]] = longest
    elif longest != encoder.max_tokens:
        raise InputError(
            f"{source}: decoder_positions is {longest}, max_tokens {encoder.max_tokens}; the library's "
            f"{of.name} has as many positions on both sides"
        )
    return written, summarizer_tensors(model, of), differences(encoder)
