"""The benchmark of fine-tuning compares like with like, or stops."""

from dataclasses import replace

import pytest
import torch

from dna_bigbird.models.classifier import SequenceClassifier


@pytest.fixture
def finetuning(script, monkeypatch):
    """The script, with a model of a few thousand weights for its small one."""
    pytest.importorskip("transformers")
    module = script("finetuning")
    tiny = replace(
        module.SIZES["small"],
        vocab_size=40,
        hidden_size=16,
        num_layers=2,
        num_heads=2,
        ffn_size=32,
        block_size=16,
        num_random=1,
    )
    monkeypatch.setitem(module.SIZES, "small", tiny)
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    return module


def test_every_case_is_printed(finetuning, capsys):
    finetuning.main(["--sizes", "small", "--tokens", "48,160", "--labels", "3"])
    lines = [x.split("\t") for x in capsys.readouterr().out.splitlines() if x[0] != "#"]
    head, *rows = lines
    assert head[-2:] == ["hf/float32 / this", "hf-strip/float32 / this"]
    assert [row[1:4] for row in rows] == [
        [tokens, mode, f"{name}/{dtype}"]
        for tokens in ("48", "160")
        for mode, names in (
            ("evaluation", ("ours", "hf", "hf-strip")),
            ("step", ("ours", "ours bfloat16", "hf", "hf-strip")),
        )
        for name, dtype in ((x.split()[0], (*x.split(), "float32")[1]) for x in names)
    ]
    assert all(float(row[4]) > 0 and float(row[5]) > 0 for row in rows)


def test_models_that_differ_are_not_timed(finetuning):
    config = replace(finetuning.SIZES["small"], max_tokens=160)
    ours = SequenceClassifier(config, 3)
    theirs = finetuning.library_twin(ours, config, stripped=False)
    batch = finetuning.Batch.draw(2, 160, config.vocab_size, 3)
    assert finetuning.check(ours, theirs, batch) < finetuning.TOLERANCE
    with torch.no_grad():
        ours.encoder.layers[1].ffn_out.bias[0] += 1
    with pytest.raises(SystemExit, match="the models compute different things: logits differ by"):
        finetuning.check(ours, theirs, batch)
