"""benchmarks/longformer.py at a tiny size."""

import re

import torch

from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

SMALL = (
    "--lengths 48,100 --heads 4 --head_dim 4 --window 4 --global_tokens 3 --dense_limit 48 "
    "--peer_limit 100 --no_memory"
)


def test_every_variant_has_a_line_and_peers_a_ratio(script, monkeypatch, capsys):
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    longformer = script("longformer")
    longformer.main(SMALL.split())
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split("\t") for line in lines if line[0] != "#"]
    names = [row[1] for row in rows[1:] if row[0] == "48"]
    assert names == list(longformer.VARIANTS)
    not_run = {row[1]: row[2] for row in rows[1:] if row[0] == "100" and "not run" in row[2]}
    assert set(not_run) == set(longformer.PEERS)
    assert not_run["hf"] == "not run: the library reads multiples of 8 tokens"
    ratios = [line for line in lines if line.startswith("# 48 tokens: hf")]
    assert len(ratios) == len(longformer.PEERS)
    for line in ratios:
        middle, low, high = map(float, re.findall(r"[\d.]+", line.split("/")[1])[:3])
        assert low <= middle <= high
    grown = sum("per token, 100 / 48 tokens: time" in line for line in lines)
    assert grown == len(longformer.GROWING)


def test_peers_compute_the_same_function(script):
    """With the same weights; of `windows` and its peer the tensors are random, so only shapes count."""
    longformer = script("longformer")
    options = longformer.parse(SMALL.split())
    for name, own_name in list(longformer.PEERS.items())[:2]:
        cases = [longformer.Case(48, longformer.TRAINING, x) for x in (name, own_name)]
        library = longformer.library_layer(options, cases[0])
        own = longformer.own_layer(options, cases[1])
        weights = library.state_dict()
        stacked = {"output." + part: weights["output." + part] for part in ("weight", "bias")}
        for prefix, suffix in (("", ""), ("global_", "_global")):
            for part in ("weight", "bias"):
                three = [
                    weights[f"attention.{n}{suffix}.{part}"] for n in ("query", "key", "value")
                ]
                stacked[f"{prefix}qkv.{part}"] = torch.cat(three)
        own.load_state_dict(stacked)
        is_global = torch.arange(48)[None] < 3
        layout = LongformerLayout(torch.zeros_like(is_global), is_global)
        x = torch.randn(1, 48, 16, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(own(x, layout), library(x, layout), rtol=1e-4, atol=1e-5)
