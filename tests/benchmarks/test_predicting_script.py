"""The benchmark of predicting compares like with like, or stops."""

from dataclasses import replace

import numpy as np
import pytest


@pytest.fixture
def predicting(script, monkeypatch):
    """The script, with a model of a few thousand weights for its small one and a short genome."""
    pytest.importorskip("transformers")
    module = script("predicting")
    tiny = replace(
        module.SIZES["small"],
        hidden_size=16,
        num_layers=2,
        num_heads=2,
        ffn_size=32,
        max_tokens=512,
        block_size=16,
        num_random=1,
    )
    letters = np.random.default_rng(0).choice(list("ACGT"), 40_000)
    monkeypatch.setitem(module.SIZES, "small", tiny)
    monkeypatch.setitem(module.VOCABULARY, "small", 40)
    monkeypatch.setattr(module, "load_background", lambda: "".join(letters))
    monkeypatch.setattr(module, "GAP", (20_000, 20_100))
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    module.bundle_of.cache_clear()
    yield module
    module.bundle_of.cache_clear()


def test_every_variant_is_printed(predicting, capsys):
    predicting.main(
        ["--sizes", "small", "--bp", "900", "--windows", "3", "--labels", "3", "--no_memory"]
    )
    lines = [x.split("\t") for x in capsys.readouterr().out.splitlines() if x[0] != "#"]
    head, *rows = lines
    assert head[:4] == ["model", "bp", "name", "seconds"]
    assert [row[:3] for row in rows] == [["small", "900", v] for v in predicting.VARIANTS]
    assert all(float(row[3]) > 0 and float(row[4]) > 0 for row in rows)


def test_models_that_differ_are_not_timed(predicting, monkeypatch):
    options = predicting.parse(["--bp", "900", "--labels", "3"])
    difference, bp_per_token = predicting.check("small", 900, options)
    assert difference < predicting.TOLERANCE
    assert 1 < bp_per_token < 4
    twin = predicting.library_twin

    def changed(ours, config, *, stripped):
        theirs = twin(ours, config, stripped=stripped)
        theirs.classifier.dense.bias.data += 1
        return theirs

    monkeypatch.setattr(predicting, "library_twin", changed)
    with pytest.raises(SystemExit, match="the models compute different things: logits differ by"):
        predicting.check("small", 900, options)
