"""The benchmark of beam search prints every case, and stops if the summaries differ."""

from dataclasses import replace

import pytest


@pytest.fixture
def search(script, monkeypatch):
    """The script, with a model of a few thousand weights for its small one."""
    pytest.importorskip("transformers")
    module = script("beam_search")
    tiny = replace(
        module.SIZES["small"], vocab_size=200, hidden_size=16, num_layers=2, num_heads=2,
        ffn_size=32, block_size=16, num_random=1, max_tokens=256, init_std=0.3,
    )  # fmt: skip
    monkeypatch.setitem(module.SIZES, "small", tiny)
    monkeypatch.setattr(script("memory"), "limit", lambda num_bytes: None)
    return module


def test_every_case_is_printed(search, capsys):
    search.main(["--sizes", "small", "--sources", "48,160", "--targets", "5", "--batch", "2"])
    lines = [x.split("\t") for x in capsys.readouterr().out.splitlines() if x[0] != "#"]
    head, *rows = lines
    assert head[-1] == "hf / this"
    assert [row[1:5] for row in rows] == [
        [tokens, "5", mode, name]
        for tokens in ("48", "160")
        for mode in ("encode", "write")
        for name in ("ours", "hf")
    ]
    assert all(float(row[5]) > 0 for row in rows)


def test_summaries_that_differ_are_not_timed(search, monkeypatch):
    wrong = search.library_twin

    def other_bias(ours):
        theirs = wrong(ours)
        theirs.final_logits_bias[:, 7] = 100.0
        return theirs

    monkeypatch.setattr(search, "library_twin", other_bias)
    with pytest.raises(SystemExit, match="small, 48 tokens: the summaries differ"):
        search.main(["--sizes", "small", "--sources", "48", "--targets", "5"])
