"""benchmarks/performer.py at a tiny size."""

import pytest
import torch

SMALL = (
    "--lengths 48,100 --heads 2 --head_dim 4 --full_limit 48 --peer_limit 48 --no_memory "
    "--variants performer,causal,relu,full,heads,heads-causal"
)


def test_every_variant_has_a_line(script, monkeypatch, capsys):
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    performer = script("performer")
    performer.main(SMALL.split())
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split("\t") for line in lines if line[0] != "#"]
    assert [row[1] for row in rows[1:] if row[0] == "48"] == SMALL.split()[-1].split(",")
    assert [row[1] for row in rows[1:] if row[0] == "100"] == list(performer.GROWING)
    assert not any("not run" in row[2] for row in rows[1:])
    assert sum("per token, 100 / 48 tokens: time" in line for line in lines) == 2
    assert any(line.startswith("# 48 tokens: full / performer") for line in lines)


@pytest.mark.parametrize("name", ["peer", "peer-causal"])
def test_peers_compute_the_same_function(script, name):
    """The causal one has one stabiliser for all keys, so ε weighs more there: small vectors."""
    pytest.importorskip("performer_pytorch")
    performer = script("performer")
    options = performer.parse(SMALL.split())
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 48, 4, generator=generator)
    q, k = 0.3 * q, 0.3 * k
    theirs, ours = (
        performer.heads_alone(options, performer.Case(48, performer.TRAINING, x))(q, k, v)
        for x in (name, performer.PEERS[name])
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5 if name == "peer" else 1e-3)
