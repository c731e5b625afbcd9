"""A small untrained chromatin bundle: its scores mean nothing, but they must be consistent."""

from pathlib import Path

import numpy as np

from dna_bigbird.bundles.network import build_model
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer


def draw_dna(length: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


def write_tiny_bundle(
    folder: Path,
    *,
    vocab_size: int | None = None,
    algorithm: str = "bpe",
    encoder: dict,
    window_bp: int,
    pooling: str = "mean",
    head_dropout: float = 0.0,
    scale: float = 10,
) -> Path:
    """Write a bundle of the labels CTCF and DNase and return its folder.

    Args:
        encoder: Settings of the encoder but for the vocabulary's size.
        scale: Spreads the scores, or every probability of an untrained model is about one half.
    """
    words = [draw_dna(500, seed) for seed in range(20)]
    settings = TokenizerConfig(algorithm=algorithm, vocab_size=vocab_size)
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(words, settings))
    config = {
        "task": "chromatin",
        "encoder": {"vocab_size": tokenizer.vocab_size, **encoder},
        "head": {"pooling": pooling, "dropout": head_dropout},
        "label_names": ["CTCF", "DNase"],
        "label_groups": ["TF", "DNase"],
        "window_bp": window_bp,
        "assembly": "none",
        "semi_synthetic": False,
    }
    model = build_model(config)
    for parameter in model.parameters():
        parameter.data *= scale if parameter.dim() == 2 else 1
    save_bundle(
        folder,
        model=model,
        config=config,
        tokenizer=tokenizer,
        metrics={"n": 0, "seed": 0, "split": "none"},
        card="# tiny\n",
    )
    return folder
