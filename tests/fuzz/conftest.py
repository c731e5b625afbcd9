"""A tiny model, a tiny genome and a place to write, made once for all inputs."""

import os
import random

import pytest

from tests.tiny_bundle import draw_dna, write_tiny_bundle

GENOME = {
    "chr1": draw_dna(150, 1) + "N" * 60 + draw_dna(90, 2).lower(),
    "chr2": draw_dna(25, 3),
    "scaffold_3": "N" * 10 + draw_dna(40, 4),
}


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """Folder of a bundle with two labels and windows of 40 bp."""
    encoder = {
        "hidden_size": 8, "num_layers": 1, "num_heads": 2, "ffn_size": 8,
        "max_tokens": 48, "block_size": 4, "num_random": 1, "dropout": 0.0,
    }  # fmt: skip
    return write_tiny_bundle(
        tmp_path_factory.mktemp("fuzz") / "tiny",
        vocab_size=24,
        encoder=encoder,
        window_bp=40,
        scale=20,
    )


@pytest.fixture(scope="session")
def genome():
    """Bases of the tiny genome by chromosome: N, lower case, one shorter than a window."""
    return GENOME


@pytest.fixture(scope="session")
def genome_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("genome") / "toy.fa"
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in GENOME.items()))
    return path


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two empty folders: what is read, what is written."""
    return tmp_path_factory.mktemp("read"), tmp_path_factory.mktemp("written")


@pytest.fixture
def start():
    """Seed of a long run: DNA_BIGBIRD_FUZZ_SEED, or another one each time; it is printed."""
    return int(os.environ.get("DNA_BIGBIRD_FUZZ_SEED", random.SystemRandom().randrange(2**32)))
