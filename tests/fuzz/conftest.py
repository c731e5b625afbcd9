"""A tiny model, a tiny genome and a place to write, made once for all inputs."""

import os
import random

import numpy as np
import pytest

from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.inference.bundle import build_model, save_bundle


def draw_dna(length: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


GENOME = {
    "chr1": draw_dna(150, 1) + "N" * 60 + draw_dna(90, 2).lower(),
    "chr2": draw_dna(25, 3),
    "scaffold_3": "N" * 10 + draw_dna(40, 4),
}


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """Folder of a bundle with two labels and windows of 40 bp."""
    words = [draw_dna(500, seed) for seed in range(20)]
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(words, TokenizerConfig(vocab_size=24)))
    config = {
        "task": "chromatin",
        "encoder": {
            "vocab_size": tokenizer.vocab_size, "hidden_size": 8, "num_layers": 1, "num_heads": 2,
            "ffn_size": 8, "max_tokens": 48, "block_size": 4, "num_random": 1, "dropout": 0.0,
        },
        "head": {"pooling": "mean", "dropout": 0.0},
        "label_names": ["CTCF", "DNase"],
        "label_groups": ["TF", "DNase"],
        "window_bp": 40,
        "assembly": "none",
        "semi_synthetic": False,
    }  # fmt: skip
    model = build_model(config)
    for parameter in model.parameters():  # else every score is about one half
        parameter.data *= 20 if parameter.dim() == 2 else 1
    folder = tmp_path_factory.mktemp("fuzz") / "tiny"
    save_bundle(
        folder, model=model, config=config, tokenizer=tokenizer, metrics={}, card="# tiny\n"
    )
    return folder


@pytest.fixture(scope="session")
def genome():
    """Bases of the tiny genome by chromosome: N, lower case, one shorter than a window."""
    return GENOME


@pytest.fixture(scope="session")
def genome_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("genome") / "toy.fa"
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in GENOME.items()))
    return path


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Two empty folders: what is read, what is written."""
    return tmp_path_factory.mktemp("read"), tmp_path_factory.mktemp("written")


@pytest.fixture
def start():
    """Seed of a long run: DNA_BIGBIRD_FUZZ_SEED, or another one each time; it is printed."""
    return int(os.environ.get("DNA_BIGBIRD_FUZZ_SEED", random.SystemRandom().randrange(2**32)))
