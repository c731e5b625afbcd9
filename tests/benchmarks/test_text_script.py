"""The benchmark of text fine-tuning prints every case, and stops if the models differ."""

from dataclasses import replace

import pytest

from dna_bigbird.models.config import HeadConfig


@pytest.fixture
def text(script, monkeypatch):
    """The script, with a model of a few thousand weights for its small one."""
    pytest.importorskip("transformers")
    module = script("text")
    tiny = replace(
        module.SIZES["small"], vocab_size=40, hidden_size=16, num_layers=2, num_heads=2,
        ffn_size=32, block_size=16, num_random=1, max_tokens=256,
    )  # fmt: skip
    monkeypatch.setitem(module.SIZES, "small", tiny)
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    return module


def test_every_case_is_printed(text, capsys):
    text.main(["--sizes", "small", "--tokens", "48,160", "--labels", "3", "--batch_tokens", "160"])
    lines = [x.split("\t") for x in capsys.readouterr().out.splitlines() if x[0] != "#"]
    head, *rows = lines
    assert head[-2:] == ["hf/float32 / this", "hf-strip/float32 / this"]
    assert [row[1:4] for row in rows] == [
        [tokens, "step", name]
        for tokens in ("48", "160")
        for name in ("ours/float32", "ours/bfloat16", "hf/float32", "hf-strip/float32")
    ]
    assert all(float(row[4]) > 0 and float(row[5]) > 0 for row in rows)


def test_heads_that_differ_are_not_timed(text, monkeypatch):
    """Our own activation of the head, tanh, is not the library's."""
    monkeypatch.setattr(text, "HeadConfig", lambda activation: HeadConfig(activation="tanh"))
    with pytest.raises(SystemExit, match="the models compute different things: logits differ by"):
        text.main(["--sizes", "small", "--tokens", "48"])
