"""Settings refuse contradictions when they are made, and need no torch."""

import subprocess
import sys

import pytest

from dna_bigbird.models.config import EncoderConfig, HeadConfig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 100}, "hidden_size 100 is not a multiple of --model.num_heads 12"),
        ({"num_heads": 0}, "--model.num_heads 0 must be at least 1"),
        ({"block_size": 0}, "--model.block_size 0 must be at least 1"),
        ({"num_random": -1}, "--model.num_random -1 must not be negative"),
        ({"pattern_seed": -1}, "--model.pattern_seed -1 must not be negative"),
        ({"random_plan": "hf"}, "--model.random_plan 'hf' is not one of uniform, original, huggingface"),
        ({"dropout": 1.0}, "--model.dropout 1.0 must be at least 0 and below 1"),
    ],
)
def test_contradictions(change, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**change)


def test_head_contradictions():
    with pytest.raises(ValueError, match=r"--head.pooling 'max' is not one of cls, mean"):
        HeadConfig(pooling="max")
    with pytest.raises(ValueError, match=r"--head.dropout -0.1"):
        HeadConfig(dropout=-0.1)


def test_defaults_are_the_papers_base_model():
    config = EncoderConfig()
    sizes = (config.num_layers, config.num_heads, config.hidden_size, config.ffn_size)
    assert sizes == (12, 12, 768, 3072)
    assert (config.max_tokens, config.block_size, config.num_random) == (4096, 64, 3)


def test_config_needs_no_torch():
    code = "import sys, dna_bigbird.models.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
