"""Code planted in the files of a bundle or of a Hugging Face folder does not run."""

import io
import json
import os
import pickle
import shutil
import zipfile

import pytest
import torch

from dna_bigbird.bundles.save import write_scored_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def plain_pickle(marker):
    return pickle.dumps({"weight": Planted(marker)})


def torch_zip(marker):
    stream = io.BytesIO()
    torch.save({"weight": Planted(marker)}, stream)
    return stream.getvalue()


def torch_legacy(marker):
    stream = io.BytesIO()
    torch.save({"weight": Planted(marker)}, stream, _use_new_zipfile_serialization=False)
    return stream.getvalue()


def array_archive(marker):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("arr_0.npy", plain_pickle(marker))
    return stream.getvalue()


PICKLES = [plain_pickle, torch_zip, torch_legacy, array_archive]


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "it-ran"


@pytest.fixture
def copy(bundle_folder, tmp_path):
    return shutil.copytree(bundle_folder, tmp_path / "copy")


def error_of(argv, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(list(map(str, argv)))
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_the_planted_code_would_run(marker):
    pickle.loads(plain_pickle(marker))
    assert marker.is_dir()
    marker.rmdir()
    torch.load(io.BytesIO(torch_zip(marker)), weights_only=False)
    assert marker.is_dir()


@pytest.mark.parametrize("made", PICKLES)
@pytest.mark.parametrize(
    "name",
    ["model.safetensors", "tokenizer.model", "tokenizer.json", "config.json", "metrics.json"],
)
def test_in_place_of_a_file_of_a_bundle(copy, marker, made, name, capsys):
    if name == "tokenizer.json":
        (copy / "tokenizer.model").unlink()
    (copy / name).write_bytes(made(marker))
    config = json.loads((copy / "config.json").read_text()) if name != "config.json" else {}
    if config:  # without checksums the file itself is looked at
        del config["sha256"]
        (copy / "config.json").write_text(json.dumps(config))
    assert name in error_of(["info", copy], capsys)
    assert not marker.exists()


@pytest.mark.parametrize("made", PICKLES)
def test_beside_the_files_of_a_bundle(copy, marker, made, capsys):
    """Names that other programs load, among them the checkpoint of a training."""
    for name in (
        "pytorch_model.bin", "model.pt", "training_args.bin", "optimizer.pt", "last.ckpt",
        "step_000000010.ckpt", "arrays.npz", "conftest.py", "modeling.py", "tokenizer_config.json",
    ):  # fmt: skip
        (copy / name).write_bytes(made(marker))
    main(["info", str(copy), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["config"]["task"] == "chromatin"
    assert not marker.exists()


@pytest.fixture
def foreign(tmp_path):
    """A Hugging Face folder, all but its weights and vocabulary."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "config.json").write_text(
        '{"model_type": "big_bird", "auto_map": {"AutoModel": "x.Y"}}'
    )
    (folder / "x.py").write_text("raise SystemExit('code from the folder was run')\n")
    return folder


@pytest.mark.parametrize("made", PICKLES)
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "part.bin"])
def test_weights_of_a_hugging_face_folder(foreign, marker, made, name, tmp_path, capsys):
    (foreign / name).write_bytes(made(marker))
    if name == "part.bin":
        index = {"weight_map": {"weight": "part.bin"}}
        (foreign / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    argv = ["convert", "--from-huggingface", foreign, "--to", tmp_path / "bundle"]
    assert name in error_of(argv, capsys)
    assert not marker.exists()
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("place", ["../part.bin", "/part.bin", "x/../../part.bin", ".", ""])
def test_parts_of_weights_are_read_from_the_folder_alone(foreign, place, tmp_path, capsys):
    torch.save({"weight": torch.ones(1)}, tmp_path / "part.bin")
    place = str(tmp_path / "part.bin") if place.startswith("/") else place
    index = {"weight_map": {"weight": place}}
    (foreign / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    argv = ["convert", "--from-huggingface", foreign, "--to", tmp_path / "bundle"]
    assert "is not in the folder" in error_of(argv, capsys)


def test_a_link_to_a_folder_that_holds_something_is_refused(bundle_folder, tmp_path):
    """Outputs are written through links, with the same rules as for a folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "keep.txt").write_text("x")
    (tmp_path / "new").symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"new: the folder holds keep\.txt"):
        write_scored_bundle(bundle_folder, tmp_path / "new", {"n": 1}, "# card\n")
    assert [path.name for path in elsewhere.iterdir()] == ["keep.txt"]


def test_a_link_under_a_temporary_name_is_not_followed(bundle_folder, tmp_path):
    """Temporary names are drawn; nobody can put a link there before."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".new.partial").symlink_to(elsewhere)
    write_scored_bundle(bundle_folder, tmp_path / "new", {"n": 1}, "# card\n")
    assert list(elsewhere.iterdir()) == []
    assert (tmp_path / "new" / "config.json").is_file()


@pytest.mark.parametrize("labels", [["../../evil", "/evil"], ["..", "."], ["a/../../b", "\\x"]])
def test_labels_name_no_file_outside_the_output(copy, tmp_path, random_dna, labels):
    """bigWig has a file for each label."""
    path = copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"label_names": labels}))
    fasta = tmp_path / "x.fa"
    fasta.write_text(f">a\n{random_dna(300, 1)}\n")
    output = tmp_path / "deep" / "er" / "tracks"
    output.parent.mkdir(parents=True)
    before = {path for path in tmp_path.rglob("*") if path != output}
    argv = ["predict", "--fasta", fasta, "--model", copy, "--format", "bigwig", "--output", output]
    main([*map(str, argv), "--precision", "32-true", "--backend", "gather"])
    made = {path for path in tmp_path.rglob("*")} - before
    assert {path.parent for path in made - {output}} == {output}
    assert len(list(output.glob("*.bw"))) == 2
