"""benchmarks/etc.py at a tiny size."""

import re

import torch

from dna_bigbird.attention.attend_etc import attend_long
from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern

SMALL = (
    "--lengths 48,96 --heads 2 --head_dim 4 --radius 8 --max_distance 3 --global_tokens 3 "
    "--dense_limit 48 --peer_limit 48 --no_memory"
)


def test_every_variant_has_a_line_and_a_ratio(script, monkeypatch, capsys):
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    etc = script("etc")
    etc.main(SMALL.split())
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split("\t") for line in lines if line[0] != "#"]
    assert rows[0][:4] == ["tokens", "variant", "median_s", "us per token"]
    assert [row[:2] for row in rows[1:]] == [*(["48", x] for x in etc.VARIANTS), ["96", "etc"]]
    for row in rows[1:]:
        assert float(row[3]) > 0
        if row[1] != "etc":
            middle, low, high = map(float, re.findall(r"[\d.]+", row[6]))
            assert low <= middle <= high
    (growth,) = (line for line in lines if line.startswith("# per token, 96 / 48 tokens: time"))
    assert growth.endswith("(goal 1.5)")


def test_without_labels_is_the_function_with_empty_tables(script):
    """What the line `etc-no-labels` computes."""
    etc, layout = script("etc"), script("etc").etc_layout(30, 4)
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(1, 2, n, 4, generator=generator) for n in (30, 30, 30, 4, 4)]
    pattern = EtcPattern(radius=5, max_distance=2)
    tables = (torch.randn(8, 2, 4, generator=generator), torch.zeros(8, 2))
    empty = EtcHeads(*tensors, torch.zeros(8, 2, 4), torch.zeros(8, 2))
    expected = attend_long(empty, pattern, layout, backend="blocked")
    with etc.without_labels():
        heads = EtcHeads(*tensors, *tables)
        torch.testing.assert_close(attend_long(heads, pattern, layout, backend="blocked"), expected)
    assert not torch.allclose(attend_long(heads, pattern, layout, backend="blocked"), expected)
