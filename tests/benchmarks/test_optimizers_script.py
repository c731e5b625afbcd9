"""benchmarks/optimizers.py prints a line per optimizer; ratios are of the rounds."""

import re

import pytest
from torch import nn


def test_every_optimizer_is_printed(script, monkeypatch, capsys):
    optimizers = script("optimizers")
    monkeypatch.setattr(script("timing"), "MIN_ROUNDS", 1)  # what `interleaved` asks for
    size = optimizers.SIZES["demo"]
    small = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "ffn_size": 64, "max_tokens": 64}
    model = optimizers.EncoderConfig(vocab_size=50, block_size=16, num_random=1, **small)
    monkeypatch.setitem(optimizers.SIZES, "demo", size._replace(model=model, batch=2))
    optimizers.main(["--sizes", "demo", "--rounds", "1", "--precision", "32-true"])
    lines = [x.split("\t") for x in capsys.readouterr().out.splitlines() if x and x[0] != "#"]
    assert [line[0] for line in lines[1:]] == list(optimizers.OPTIMIZERS)
    assert lines[1][2] == "1.00 [1.00, 1.00]"
    for line in lines[1:]:
        middle, low, high = map(float, re.findall(r"[\d.]+", line[3]))
        assert 0 < low <= middle <= high < 100


def test_plain_is_every_matrix_in_torchs_order(script, monkeypatch):
    """And the product's own order is back afterwards."""
    optimizers = script("optimizers")
    usual, seen = optimizers.muon._by_square, []
    steps = optimizers.muon._by_steps
    monkeypatch.setattr(optimizers.muon, "_by_steps", lambda x: seen.append(x.shape) or steps(x))
    model = nn.Module()
    model.encoder = nn.Module()
    model.encoder.layers = nn.ModuleList([nn.Linear(4, 16, bias=False)])
    model.encoder.layers[0].weight.grad = model.encoder.layers[0].weight.detach().clone()
    for name, count in (("muon/float32", 0), ("muon/float32/plain", 1)):
        optimizers.step_of(name, model)()
        assert len(seen) == count
    assert optimizers.muon._by_square is usual


def test_an_unknown_size_is_refused(script, capsys):
    with pytest.raises(SystemExit, match="2"):
        script("optimizers").main(["--sizes", "demo,huge"])
    assert "'huge' is not one of demo, 4x128, base" in capsys.readouterr().err
