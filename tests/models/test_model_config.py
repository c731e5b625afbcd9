"""Settings refuse contradictions when they are made, and need no torch."""

import subprocess
import sys
from typing import get_args, get_type_hints

import pytest

from dna_bigbird.attention.patterns import itc
from dna_bigbird.models.activations import ACTIVATIONS, activation
from dna_bigbird.models.config import EncoderConfig, HeadConfig, stored_encoder, stored_head
from dna_bigbird.models.label_types import gain_key, headlines_in, label_type_of
from dna_bigbird.models.stored_settings import typed_value


def test_a_file_has_only_what_is_read():
    assert "etc" not in stored_encoder(EncoderConfig())
    assert stored_encoder(EncoderConfig(attention="longformer"))["longformer"]["windows"] == []
    expected = {"activation", "centre_tokens", "dropout", "pooling"}
    assert stored_head(HeadConfig(pooling="mean")).keys() == expected


def test_a_stored_value_of_another_type_is_named():
    with pytest.raises(ValueError, match="label_names is 1, expected a text"):
        typed_value("label_names", ["CTCF", 1], list[str])


def test_label_types_and_their_main_scores():
    assert label_type_of(None, ["promoter"]) == "binary"
    assert label_type_of("regression", ["activity"]) == "regression"
    assert headlines_in({"auroc": 0.9, "mcc": 0.7}) == ("auroc", "auprc")
    classes = ("mcc", "accuracy", "macro_f1", "macro_auroc")
    assert headlines_in({"mcc": 0.5, "accuracy": 0.8}) == classes
    assert gain_key("macro_auroc", "kmer") == "auroc_gain_over_kmer"
    assert gain_key("mcc", "kmer") == "mcc_gain_over_kmer"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 100}, "hidden_size 100 is not a multiple of --model.num_heads 12"),
        ({"num_heads": 0}, "--model.num_heads 0"),
        ({"block_size": 0}, "--model.block_size 0"),
        ({"num_random": -1}, "--model.num_random -1"),
        ({"pattern_seed": -1}, "--model.pattern_seed -1"),
        (
            {"random_plan": "hf"},
            "--model.random_plan='hf'",
        ),
        ({"dropout": 1.0}, "--model.dropout 1.0"),
        ({"attention_dropout": -0.5}, "--model.attention_dropout -0.5"),
        ({"attention": "sparse"}, "--model.attention='sparse'"),
        ({"global_blocks": "all"}, "--model.global_blocks='all'"),
        ({"activation": "swish"}, "--model.activation='swish'"),
        ({"norm_eps": 0.0}, "--model.norm_eps 0.0"),
        ({"num_segments": -1}, "--model.num_segments -1"),
        ({"window_blocks": 4}, "--model.window_blocks 4"),
        ({"window_blocks": -1}, "--model.window_blocks -1"),
        (
            {"random_plan": "original", "window_blocks": 5},
            "--model.random_plan original has --model.window_blocks 3 and .* got 5 and first_last",
        ),
        (
            {"random_plan": "huggingface", "global_blocks": "none"},
            "--model.random_plan huggingface has .* first_last or first_two, got 3 and none",
        ),
        (
            {"window_blocks": 0, "global_blocks": "none", "num_random": 0},
            "no block would read anything",
        ),
    ],
)
def test_contradictions(change, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**change)


def test_choices_are_those_of_the_code_behind_them():
    """The settings are read without torch, so they repeat what they cannot import."""
    hints = get_type_hints(EncoderConfig)
    assert get_args(hints["random_plan"]) == itc.PLANS
    assert get_args(hints["global_blocks"]) == itc.GLOBAL_BLOCKS
    assert get_args(hints["activation"]) == tuple(ACTIVATIONS)


def test_unknown_activation():
    with pytest.raises(ValueError, match=r"activation must be one of gelu_tanh, .* got 'swish'"):
        activation("swish")


def test_new_fields_mean_what_older_bundles_were():
    """Bundles of version 0.1 name none of these."""
    config = EncoderConfig()
    assert (config.attention, config.window_blocks, config.global_blocks) == (
        "bigbird", 3, "first_last",
    )  # fmt: skip
    assert (config.activation, config.norm_eps, config.qkv_bias) == ("gelu_tanh", 1e-12, True)
    assert (config.num_segments, config.scale_embeddings, config.attention_dropout) == (2, False, 0)


@pytest.mark.parametrize(
    ("change", "published"),
    [
        ({}, False),
        ({"random_plan": "original"}, True),
        ({"random_plan": "huggingface"}, True),
        ({"random_plan": "huggingface", "attention": "full"}, False),
    ],
)
def test_who_keeps_the_published_padding(change, published):
    assert EncoderConfig(**change).keeps_published_padding == published


def test_a_block_is_no_longer_than_a_sequence_or_1024_tokens():
    EncoderConfig(max_tokens=16, block_size=1024)
    EncoderConfig(max_tokens=2048, block_size=2048)
    with pytest.raises(ValueError, match=r"--model.block_size 1025"):
        EncoderConfig(max_tokens=16, block_size=1025)
    with pytest.raises(ValueError, match=r"--model.block_size 2049"):
        EncoderConfig(max_tokens=2048, block_size=2049)


def test_head_contradictions():
    with pytest.raises(ValueError, match=r"--head.pooling='max'"):
        HeadConfig(pooling="max")
    with pytest.raises(ValueError, match=r"--head.centre_tokens 0"):
        HeadConfig(centre_tokens=0)
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
