"""BERT and RoBERTa of the Hugging Face library as one of our models with full attention."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from dna_bigbird.bundles.huggingface.settings import (
    ACTIVATIONS,
    check_class,
    known_name,
    read_settings,
)
from dna_bigbird.bundles.huggingface.summarizer_classes import BART
from dna_bigbird.bundles.huggingface.tensor_names import (
    BUFFERS,
    heads_in,
    layers_in,
    plain_names,
    to_ours,
    untie,
)
from dna_bigbird.bundles.huggingface.weight_files import read_tensors
from dna_bigbird.bundles.weights import building
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import read_json
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer_files import read_library_tokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel

RESERVED_POSITIONS = {"bert": 0, "roberta": 2}
"""Rows at the start of the position table that no token has, by model_type."""
FIELDS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "ffn_size": "intermediate_size",
    "num_segments": "type_vocab_size",
    "norm_eps": "layer_norm_eps",
}
OPTIONAL = {
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "init_std": "initializer_range",
}
ROBERTA_HEAD = {
    "lm_head.dense.": "cls.predictions.transform.dense.",
    "lm_head.layer_norm.": "cls.predictions.transform.LayerNorm.",
    "lm_head.decoder.": "cls.predictions.decoder.",
    "lm_head.bias": "cls.predictions.bias",
}
"""RoBERTa's names of the head for masked tokens, and BERT's."""
UNUSED = ("pooler.", "cls.seq_relationship.")
POSITIONS = "embeddings.position_embeddings.weight"


@dataclass(frozen=True)
class ShortEncoder:
    """A model of at most 512 tokens, in evaluation mode, that computes what the library's does."""

    model: PretrainingModel
    """With an MLM head; drawn fresh (its word table is tied) if the folder has none."""
    tokenizer: TextTokenizer
    model_type: str
    """'bert' or 'roberta'."""
    has_mlm: bool
    """Whether the MLM head comes from the folder."""


def read_short_encoder(folder: Path, seed: int = 0) -> ShortEncoder:
    """Read a BERT or RoBERTa folder without running its code; `seed` draws a missing MLM head."""
    folder = Path(folder)
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(f"{folder}: no config.json; expected a folder of the Hugging Face library")
    config = read_json(path)
    encoder, model_type = _settings(config, str(path))
    tensors = _bert_names(read_tensors(folder), RESERVED_POSITIONS[model_type], str(folder))
    is_tied = config.get("tie_word_embeddings") is not False
    plain = untie(tensors, is_tied, str(folder))
    has_mlm = "mlm" in heads_in(plain)
    tokenizer = read_library_tokenizer(folder, is_roberta=model_type == "roberta")
    if tokenizer.vocab_size > encoder.vocab_size:
        raise InputError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} pieces, config.json has vocab_size "
            f"{encoder.vocab_size}; they belong to different models"
        )
    if (layers := layers_in(plain)) != encoder.num_layers:
        raise InputError(
            f"{path}: num_hidden_layers is {encoder.num_layers}, the weights have {layers}"
        )
    with building(str(path)):
        shapes = PretrainingModel(encoder, heads=("mlm",)).state_dict()
    expected = {n: t.shape for n, t in shapes.items() if has_mlm or not n.startswith("mlm.")}
    state = to_ours(plain, expected, str(folder))
    model = PretrainingModel(encoder, seed=seed, heads=("mlm",))
    model.load_state_dict(state, strict=has_mlm)
    return ShortEncoder(model.eval(), tokenizer, model_type, has_mlm)


def is_summarizer(folder: Path) -> bool:
    """Return True if config.json of a folder says that it is a BART."""
    path = Path(folder) / "config.json"
    return path.is_file() and read_json(path).get("model_type") == BART.model_type


def _settings(config: Mapping[str, Any], source: str) -> tuple[EncoderConfig, str]:
    model_type = known_name(config, "model_type", "", RESERVED_POSITIONS, source)
    check_class(config, source)
    act = known_name(config, "hidden_act", "gelu", ACTIVATIONS, source)
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int) or positions <= RESERVED_POSITIONS[model_type]:
        raise InputError(f"{source}: max_position_embeddings is {shortened(repr(positions))}")
    values = {ours: config.get(theirs) for ours, theirs in FIELDS.items()}
    values |= {ours: config[theirs] for ours, theirs in OPTIONAL.items() if theirs in config}
    values |= {"attention": "full", "activation": ACTIVATIONS[act]}
    values |= {"max_tokens": positions - RESERVED_POSITIONS[model_type]}
    return read_settings(EncoderConfig, values, source), model_type


def _bert_names(tensors: Mapping[str, Tensor], reserved: int, source: str) -> dict[str, Tensor]:
    """Return the tensors under BERT's plain names, without unused ones and reserved positions."""
    renamed = {}
    for name, tensor in plain_names(tensors).items():
        name = name.removeprefix("roberta.")
        for theirs, ours in ROBERTA_HEAD.items():
            if name.startswith(theirs):
                name = ours + name.removeprefix(theirs)
        if name not in BUFFERS and not name.startswith(UNUSED):
            renamed[name] = tensor
    if POSITIONS not in renamed:
        raise InputError(f"{source}: no tensor {POSITIONS}; expected those of BERT or RoBERTa")
    renamed[POSITIONS] = renamed[POSITIONS][reserved:]
    return renamed
