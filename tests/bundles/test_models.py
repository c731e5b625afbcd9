"""Models by name: `models list`, `add` and `remove`, and the options that take a name."""

import csv
import shutil

import pytest

import dna_bigbird
from dna_bigbird.bundles.bundled import NAMES
from dna_bigbird.cli.main import main


@pytest.fixture(autouse=True)
def zoo(tmp_path, monkeypatch):
    monkeypatch.setenv("DNA_BIGBIRD_MODELS", str(tmp_path / "zoo"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "zoo"


@pytest.fixture
def trained():
    return NAMES["bundled-any-promoter"]()


def listed(capsys):
    capsys.readouterr()
    main(["models", "list"])
    return {
        row["name"]: row
        for row in csv.DictReader(capsys.readouterr().out.splitlines(), delimiter="\t")
    }


def test_a_name_is_the_model_everywhere(trained, tmp_path, capsys):
    main(["models", "add", "mine", str(trained), "--license", "mit"])
    (tmp_path / "a.fa").write_text(f">a\n{'ACGT' * 75}\n")
    for name, output in (("mine", "by_name.tsv"), (str(trained), "by_path.tsv")):
        main(["predict", "--fasta", "a.fa", "--model", name, "--output", output])
    assert (tmp_path / "by_name.tsv").read_text() == (tmp_path / "by_path.tsv").read_text()
    assert dna_bigbird.load("mine").labels == ["promoter"]
    row = listed(capsys)["mine"]
    assert (row["licence"], row["window"], row["labels"], row["vocabulary"]) == (
        "mit",
        "300",
        "promoter",
        "10",
    )
    assert "chr22:16,050," in row["read"]
    main(["models", "remove", "mine"])
    assert "mine" not in listed(capsys)
    with pytest.raises(dna_bigbird.InputError, match="mine"):
        dna_bigbird.load("mine")
    assert trained.is_dir()


def test_the_models_of_the_package_are_listed_once(capsys):
    rows = listed(capsys)
    assert set(rows) == {"bundled-encoder", "bundled-tata", "bundled-any-promoter"}
    assert rows["bundled-encoder"]["labels"] == ""


def test_a_path_wins(trained, tmp_path):
    dna_bigbird.models_add("mine", trained)
    shutil.copytree(NAMES["bundled-tata"](), tmp_path / "mine")
    assert dna_bigbird.load_bundle("mine").folder.resolve() == (tmp_path / "mine").resolve()


def test_what_is_refused_leaves_everything_as_it_is(trained, zoo, tmp_path):
    dna_bigbird.models_add("mine", trained)
    before = sorted(zoo.rglob("*"))
    damaged = tmp_path / "damaged"
    shutil.copytree(trained, damaged)
    with open(damaged / "model.safetensors", "ab") as stream:
        stream.write(b"x")
    for name, bundle, named in (
        ("mine", trained, "mine"),
        ("bundled-tata", trained, "bundled-tata"),
        ("a/b", trained, "a/b"),
        ("..", trained, r"\.\."),
        ("other", damaged, "model.safetensors"),
        ("other", tmp_path / "none", "none"),
    ):
        with pytest.raises(dna_bigbird.InputError, match=named):
            dna_bigbird.models_add(name, bundle)
    for name in ("other", "bundled-tata", "../damaged", "."):
        with pytest.raises(dna_bigbird.InputError, match=name):
            dna_bigbird.models_remove(name)
    assert sorted(zoo.rglob("*")) == before
    (zoo / "mine/notes.txt").write_text("of the user")
    with pytest.raises(dna_bigbird.InputError, match=r"notes\.txt"):
        dna_bigbird.models_remove("mine")
    assert (zoo / "mine/model.safetensors").is_file()
