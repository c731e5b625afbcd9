"""Models by name: `models list`, `add` and `remove`, and the options that take a name."""

import csv
import pwd
import random
import shutil

import pytest

import dna_bigbird
from dna_bigbird.bundles.bundled import NAMES, folder_of
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
    assert (row["licence"], row["window"], row["labels"], row["tokens"]) == (
        "mit",
        "300",
        "promoter",
        "single bases",
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


def test_commands_that_also_read_files_of_the_bundle_take_a_name(trained, bundle_folder, tmp_path):
    dna_bigbird.models_add("mine", trained)
    draw = random.Random(0)
    rows = ["name,sequence,promoter"]
    rows += [f"s{i},{''.join(draw.choices('ACGT', k=300))},{i % 2}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    dna_bigbird.sequence_set(
        "rows.csv", output="set.h5", label_columns="promoter", test_fraction=0.5
    )
    dna_bigbird.evaluate(model="mine", data="set.h5", output="scored", replicates=10)
    dna_bigbird.models_add("tiny", bundle_folder)
    dna_bigbird.plot_attention(model="tiny", num_blocks=8, output="drawing.png")
    for name in ("scored/model.safetensors", "drawing.png"):
        assert (tmp_path / name).stat().st_size > 0


def test_an_ensemble_of_names(trained):
    dna_bigbird.models_add("mine", trained)
    with pytest.raises(dna_bigbird.InputError, match="same weights"):
        dna_bigbird.ensemble(["mine", "bundled-any-promoter"], "both")


def test_a_copy_is_independent_of_the_bundle(trained, tmp_path, zoo):
    """Also if the weights are a link, as in folders of DVC or git-annex."""
    bundle, stored = tmp_path / "bundle", tmp_path / "stored"
    shutil.copytree(trained, bundle)
    (bundle / "model.safetensors").rename(stored)
    (bundle / "model.safetensors").symlink_to("../stored")
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}
    dna_bigbird.models_add("mine", bundle)
    for path in (*bundle.iterdir(), stored):
        path.write_bytes(b"changed in its place")
    assert {x.name: x.read_bytes() for x in (zoo / "mine").iterdir() if x.name in before} == before
    assert dna_bigbird.load("mine").labels == ["promoter"]


def test_a_damaged_model_hides_no_other(trained, zoo, capsys):
    dna_bigbird.models_add("mine", trained)
    (zoo / "damaged").mkdir()
    (zoo / "damaged" / "config.json").write_text("{")
    assert "mine" in listed(capsys)
    main(["models", "list"])
    assert "damaged" in capsys.readouterr().err
    with pytest.raises(dna_bigbird.InputError, match="name other"):
        dna_bigbird.models_remove("other")
    dna_bigbird.models_remove("mine")
    assert not (zoo / "mine").exists()


def test_what_add_did_not_make_is_not_removed(trained, zoo):
    zoo.mkdir()
    (zoo / "link").symlink_to(trained)
    shutil.copytree(trained, zoo / "copied", ignore=shutil.ignore_patterns(".dna-bigbird"))
    for name in ("link", "copied"):
        assert dna_bigbird.load_bundle(name).config.label_names == ["promoter"]
        with pytest.raises(dna_bigbird.InputError, match=name):
            dna_bigbird.models_remove(name)
        assert (zoo / name / "config.json").is_file()


def test_a_user_without_a_home(monkeypatch):
    """In a container with a number for a user."""

    def unknown(_):
        raise KeyError("uid not found")

    for name in ("HOME", "XDG_DATA_HOME", "DNA_BIGBIRD_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert folder_of("bundled-tata") == NAMES["bundled-tata"]()
    assert str(folder_of("mine")) == "mine"


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
