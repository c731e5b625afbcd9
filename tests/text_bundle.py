"""A small untrained bundle of a text encoder, to fine-tune from."""

from dataclasses import asdict
from pathlib import Path

from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.models.config import EncoderConfig
from tests.text_vocabulary import tiny_text_tokenizer


def write_text_bundle(folder: Path, **encoder) -> Path:
    """Write a bundle with a head for masked tokens and return its folder.

    Args:
        encoder: Settings of the encoder; by default 1 layer of width 32 over 256 tokens.
    """
    tokenizer = tiny_text_tokenizer()
    small = {
        "vocab_size": tokenizer.vocab_size, "hidden_size": 32, "num_layers": 1, "num_heads": 2,
        "ffn_size": 64, "max_tokens": 256, "block_size": 16, "num_random": 1, "init_std": 0.1,
    }  # fmt: skip
    config = {
        "task": "pretraining",
        "heads": ["mlm"],
        "reads": "text",
        "encoder": asdict(EncoderConfig(**(small | encoder))),
        "label_names": [],
    }
    save_bundle(
        folder,
        model=build_model(config),
        config=config,
        tokenizer=tokenizer,
        metrics={"n": 0, "seed": 0, "split": "none"},
        card="# tiny\n",
    )
    return folder
