"""A small untrained promoter-like bundle: its scores mean nothing, but they must be consistent."""

import pytest

from tests.tiny_bundle import draw_dna, write_tiny_bundle


@pytest.fixture(scope="session")
def random_dna():
    """Function (length, seed) -> sequence."""
    return draw_dna


@pytest.fixture(scope="session")
def bundle_folder(tmp_path_factory):
    encoder = {
        "hidden_size": 32, "num_layers": 2, "num_heads": 2, "ffn_size": 64,
        "max_tokens": 128, "block_size": 8, "num_random": 1, "dropout": 0.1,
    }  # fmt: skip
    return write_tiny_bundle(
        tmp_path_factory.mktemp("bundles") / "tiny",
        vocab_size=64,
        encoder=encoder,
        window_bp=200,
        pooling="cls",
        head_dropout=0.1,
    )
