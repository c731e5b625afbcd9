"""A model is replaced by a later run, but never with a file that the user put next to it."""

import shutil
from pathlib import Path

import pytest

from dna_bigbird.core.result_folders import RECORD
from dna_bigbird.training import trained_bundle
from tests.toy_project import FINETUNE, PRETRAIN, bytes_of, refused, run

EVALUATE = "evaluate --genome toy.fa --model promoter --data set.h5 --seed 1 --replicates 50"
COMMANDS = {
    "pretrain": (f"{PRETRAIN} --checkpoints checkpoints/pretrained --output", "pretrained"),
    "finetune": (f"{FINETUNE} --checkpoints checkpoints/promoter --output", "promoter"),
    "finetune --scored": (
        f"{FINETUNE} --checkpoints checkpoints/promoter --output kept/trained --scored",
        "promoter",
    ),
    "evaluate": (f"{EVALUATE} --output", "final/promoter"),
    "evaluate-lm": (
        "evaluate-lm --model pretrained --train train.h5 --test test.h5 --seed 1 --examples 20 "
        "--genome toy.fa --report kept/lm.json --output",
        "final/pretrained",
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_is_replaced_only_without_files_of_the_user(command, project, capsys):
    """A training continues from its last step, so it writes the same model again."""
    line, model = COMMANDS[command]
    folder = Path("kept") / command.replace(" --", "-")
    shutil.copytree(model, folder)
    (folder / "predictions").mkdir()
    for name in ("notes.md", "predictions/a.tsv"):
        (folder / name).write_text("mine")
        error = refused(f"{line} {folder}", capsys)
        assert f"{folder}: the folder holds {name.partition('/')[0]}, which no run" in error
        assert (folder / name).read_text() == "mine"
        assert all((folder / name).is_file() for name in bytes_of(Path(model)))
        (folder / name).unlink()
    (folder / "predictions").rmdir()
    (folder / ".snakemake_timestamp").touch()
    run(f"{line} {folder}")
    assert not (folder / ".snakemake_timestamp").exists()
    written = bytes_of(folder)
    assert written[RECORD].startswith(b"a folder with a model\nREADME.md\n")
    (folder / RECORD).unlink()  # as an earlier version wrote it
    run(f"{line} {folder}")
    assert bytes_of(folder) == written


def test_a_file_that_is_added_during_a_training_is_kept(project, capsys, monkeypatch):
    """The checkpoints are kept too: the next run trains no step again."""
    folder, checkpoints = Path("kept/added"), Path("kept/added.checkpoints")
    line = f"{FINETUNE} --output {folder} --checkpoints {checkpoints}"
    run(line)
    whole = bytes_of(folder)
    shutil.rmtree(checkpoints)
    model_card = trained_bundle.model_card

    def add_notes(*arguments):
        (folder / "notes.md").write_text("mine")
        return model_card(*arguments)

    monkeypatch.setattr(trained_bundle, "model_card", add_notes)
    error = refused(line, capsys)
    assert "holds notes.md, which no run of this command wrote; nothing was replaced" in error
    assert "a training continues from its checkpoints, which are kept" in error
    assert bytes_of(folder) == whole | {"notes.md": b"mine"}
    states = {path.name: path.stat().st_mtime_ns for path in checkpoints.glob("*.ckpt")}
    assert any(name.startswith("step_") for name in states)
    monkeypatch.setattr(trained_bundle, "model_card", model_card)
    (folder / "notes.md").rename("kept/notes.md")
    run(line)
    assert bytes_of(folder) == whole
    assert {path.name: path.stat().st_mtime_ns for path in checkpoints.glob("*.ckpt")} == states
