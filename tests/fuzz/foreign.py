"""Small Hugging Face folders of every sort that is read, written without that library."""

import json
from dataclasses import asdict
from pathlib import Path

import safetensors.torch

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.huggingface.huggingface_writing import write_huggingface
from dna_bigbird.bundles.huggingface.short_encoders import FIELDS
from dna_bigbird.bundles.huggingface.tensor_names import to_library
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel
from tests.text_vocabulary import tiny_text_tokenizer

SMALL = {
    "vocab_size": 430, "hidden_size": 8, "num_layers": 1, "num_heads": 2, "ffn_size": 8,
    "max_tokens": 64, "block_size": 8, "num_random": 1,
}  # fmt: skip
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxy"]


def bigbird_folder(folder: Path) -> Path:
    """BigBird for pretraining, with a vocabulary of text."""
    encoder = asdict(EncoderConfig(**(SMALL | {"random_plan": "huggingface"})))
    return _written(folder, {"task": "pretraining", "encoder": encoder})


def pegasus_folder(folder: Path) -> Path:
    """BigBird-Pegasus: an encoder and a decoder."""
    encoder = asdict(EncoderConfig(**(SMALL | {"random_plan": "huggingface"})))
    encoder |= {"norm_first": True, "norm_eps": 1e-5, "num_segments": 0, "scale_embeddings": True}
    head = asdict(
        text_tasks.describe("summarization").head_type()(coupled=False, share_positions=False)
    )
    config = {"task": "summarization", "encoder": encoder, "label_names": [], "head": head}
    return _written(folder, config)


def longformer_folder(folder: Path) -> Path:
    """Longformer for masked tokens."""
    encoder = EncoderConfig(**(SMALL | {"attention": "longformer", "activation": "gelu"}))
    config = {"task": "pretraining", "encoder": stored_encoder(encoder), "heads": ["mlm"]}
    return _written(folder, config)


def led_folder(folder: Path) -> Path:
    """LED: Longformer's encoder and BART's decoder."""
    return _summarizer(folder, "longformer")


def bart_folder(folder: Path) -> Path:
    """BART, whose position tables have unused rows."""
    return _summarizer(folder, "full")


def _summarizer(folder: Path, attention: str) -> Path:
    encoder = EncoderConfig(
        **(SMALL | {"attention": attention, "num_segments": 0, "norm_eps": 1e-5})
    )
    head = asdict(
        text_tasks.describe("summarization").head_type()(coupled=False, share_positions=False)
    )
    config = {"task": "summarization", "encoder": stored_encoder(encoder), "head": head}
    return _written(folder, config)


def bert_folder(folder: Path) -> Path:
    """BERT for masked tokens, with vocab.txt."""
    settings = SMALL | {"vocab_size": len(PIECES), "attention": "full", "block_size": 64}
    encoder = EncoderConfig(**settings)
    folder.mkdir()
    state = PretrainingModel(encoder, heads=("mlm",)).state_dict()
    safetensors.torch.save_file(
        to_library(state, "BigBirdForMaskedLM"), folder / "model.safetensors"
    )
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    config = {theirs: getattr(encoder, ours) for ours, theirs in FIELDS.items()}
    config |= {"model_type": "bert", "max_position_embeddings": encoder.max_tokens}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _written(folder: Path, config: dict) -> Path:
    write_huggingface(
        folder, model=build_model(config), config=config, tokenizer=tiny_text_tokenizer(), card="",
        source="tiny",
    )  # fmt: skip
    return folder
