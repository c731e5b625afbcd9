"""A small untrained promoter-like bundle: its scores mean nothing, but they must be consistent."""

import numpy as np
import pytest

from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.inference.bundle import build_model, save_bundle


def draw_dna(length: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


@pytest.fixture(scope="session")
def random_dna():
    """Function (length, seed) -> sequence."""
    return draw_dna


@pytest.fixture(scope="session")
def bundle_folder(tmp_path_factory):
    training = [draw_dna(500, seed) for seed in range(20)]
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(training, TokenizerConfig(vocab_size=64)))
    config = {
        "task": "chromatin",
        "encoder": {
            "vocab_size": tokenizer.vocab_size, "hidden_size": 32, "num_layers": 2, "num_heads": 2,
            "ffn_size": 64, "max_tokens": 128, "block_size": 8, "num_random": 1, "dropout": 0.1,
        },
        "head": {"pooling": "cls", "dropout": 0.1},
        "label_names": ["CTCF", "DNase"],
        "label_groups": ["TF", "DNase"],
        "window_bp": 200,
        "assembly": "none",
        "semi_synthetic": False,
    }  # fmt: skip
    model = build_model(config)
    # Spread the scores, or every probability of an untrained model is about one half.
    for parameter in model.parameters():
        parameter.data *= 10 if parameter.dim() == 2 else 1
    folder = tmp_path_factory.mktemp("bundles") / "tiny"
    save_bundle(
        folder,
        model=model,
        config=config,
        tokenizer=tokenizer,
        metrics={"n": 0, "seed": 0, "split": "none"},
        card="# tiny\n",
    )
    return folder
