"""`dna-bigbird info`: what a reader is told of a bundle, and what a program."""

import json
import shutil

import pytest

from dna_bigbird.bundles import bundled
from dna_bigbird.cli.main import main
from dna_bigbird.core.tables import as_columns, without_markdown

CARD = """\
# A model

> **Careful.** Not for `this`.

- one item that is so long that it cannot stand in a single line of a terminal of usual width, and goes on
- two,
  and more

| score | model | kmer |
|---|---|---|
| auroc | **0.9** (0.8–1.0) | – |

\x1b[2Jend
"""


@pytest.fixture
def bundle(bundle_folder, tmp_path):
    """A copy of the tiny bundle with another card and many labels' worth of names."""
    folder = tmp_path / "model"
    shutil.copytree(bundle_folder, folder)
    (folder / "README.md").write_text(CARD)
    return folder


def test_a_bundle_for_a_reader(bundle, capsys):
    main(["info", str(bundle)])
    facts, _, card = capsys.readouterr().out.partition("\n\n")
    found = dict(line.split(None, 1) for line in facts.splitlines())
    assert found["task"] == "chromatin"
    assert found["labels"] == "2: CTCF, DNase"
    assert found["window"] == "200 bp"
    assert found["context"] == "128 tokens"
    assert found["tokenizer"] == "tokenizer.model, 64 pieces"
    assert (
        card
        == """\
A model

Careful. Not for this.

- one item that is so long that it cannot stand in a single line of a terminal of usual
  width, and goes on
- two, and more

  score  model          kmer
  auroc  0.9 (0.8–1.0)  –

[2Jend
"""
    )


def test_a_bundle_for_a_program(bundle, capsys):
    main(["info", str(bundle), "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"parameters", "config", "metrics"}
    assert told["config"]["window_bp"] == 200


def test_labels_by_pattern(bundle, capsys):
    main(["info", str(bundle), "--labels", "*"])
    assert capsys.readouterr().out == "CTCF\nDNase\n"
    main(["info", str(bundle), "--labels", "DN*"])
    assert capsys.readouterr().out == "DNase\n"
    with pytest.raises(SystemExit, match="2"):
        main(["info", str(bundle), "--labels", "CTFC"])
    assert "--labels CTFC: the model has no such label; near are CTCF" in capsys.readouterr().err


def test_without_a_path_it_is_the_model_of_the_package(bundle, capsys, monkeypatch):
    monkeypatch.setattr(bundled, "BUNDLED", bundle)
    main(["info"])
    assert capsys.readouterr().out.startswith(f"bundle     {bundle}\n")


def test_options_of_the_other_kind_are_refused(bundle, capsys, tmp_path):
    for arguments, message in (
        ([str(bundle), "--verify"], "--verify is for a token store, and this is not a file"),
        ([str(bundle / "config.json"), "--labels", "*"], "--labels is for a model bundle"),
        ([str(tmp_path / "none")], "no such model bundle"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["info", *arguments])
        assert message in capsys.readouterr().err


def test_facts_in_columns():
    many = {"a": 1, "bb": 20_000, "c": None, "d": False}
    assert (
        as_columns({"few": {"x": 1, "y": ["p", "q"]}, "many": many, "z": ""})
        == """\
few   x 1, y p; q
many
  a   1
  bb  20,000
  c   –
  d   no
z     –"""
    )


def test_an_empty_card():
    assert without_markdown("\n\n") == ""
