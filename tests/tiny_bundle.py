"""A small untrained chromatin bundle: its scores mean nothing, but they must be consistent."""

from pathlib import Path

import numpy as np
import torch

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import bases_of_pieces


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
    return _write(folder, config, tokenizer, scale)


def _write(folder: Path, config: dict, tokenizer: DnaTokenizer, scale: float) -> Path:
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


OWN_ENCODER = {
    "hidden_size": 32, "num_layers": 2, "num_heads": 2, "ffn_size": 64, "max_tokens": 128,
    "block_size": 16, "num_random": 1, "norm_first": True, "positions": "rotary",
    "rotary_base": 500.0, "qk_norm": True, "stem_width": 3, "scale_residual": True,
}  # fmt: skip
"""Every setting of the encoder that the paper's lacks."""


def write_rotary_bundle(folder: Path) -> Path:
    """Write an untrained bundle with `OWN_ENCODER` and return its folder."""
    return write_tiny_bundle(folder, vocab_size=64, encoder=OWN_ENCODER, window_bp=200)


def write_pretrained_bundle(folder: Path, algorithm: str = "bases", *, scale: float = 10) -> Path:
    """Write an untrained pretraining bundle whose predictions are spread out by `scale`, and return its folder."""
    words = [draw_dna(500, seed) for seed in range(20)]
    size = None if algorithm == "bases" else 40
    settings = TokenizerConfig(algorithm=algorithm, vocab_size=size)
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(words, settings))
    encoder = {
        "vocab_size": tokenizer.vocab_size, "hidden_size": 32, "num_layers": 1, "num_heads": 2,
        "ffn_size": 64, "max_tokens": 128, "block_size": 8, "num_random": 1,
    }  # fmt: skip
    config = {
        "task": "pretraining", "encoder": encoder, "label_names": [], "heads": ["mlm"],
        "regions_read": [],
    }  # fmt: skip
    return _write(folder, config, tokenizer, scale=scale)


def with_counts(folder: Path) -> Bundle:
    """Return a bundle with a regression on k-mer counts of drawn weights next to its network."""
    bundle = load_bundle(folder)
    pieces, piece_bp = bundle.tokenizer.pieces, bundle.tokenizer.piece_bp
    head = bundle.model.add_kmer_head(KmerHeadConfig(max_k=2, piece_bp=max(piece_bp)))
    with torch.no_grad():
        head.counts.bases_VI.copy_(torch.from_numpy(bases_of_pieces(pieces, piece_bp)))
        head.linear.weight.normal_(generator=torch.Generator().manual_seed(0))
    return bundle
