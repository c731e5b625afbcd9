"""Checkpoints that are damaged, that lack a part, or that cannot be read now."""

import builtins
import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
import pytorch_lightning as pl
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.training import run_folder
from dna_bigbird.training.checkpoint_files import (
    CONTENT,
    WHOLE_STATE,
    DamagedError,
    content_sha256,
    read_checkpoint,
    save_checkpoint,
)
from dna_bigbird.training.fit import fit
from dna_bigbird.training.run_folder import list_checkpoints, open_run

SETTINGS = {"training": {"max_steps": 8}}
NOBODY = 65534


@pytest.fixture(scope="module")
def run():
    """Function (tiny_run, folder, callbacks): train 12 steps, validated every 4; return weights."""

    def train(tiny_run, folder, *callbacks, **settings):
        task, data, config = tiny_run(checkpoint_every_steps=2, **settings)
        fit(task, data, config, checkpoints=folder, seed=3, settings={}, callbacks=callbacks)
        return task.model.state_dict()

    return train


def flip(path: Path, position: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def flip_weights(path: Path) -> None:
    """Flip a bit of the largest tensor, which torch reads without a complaint."""
    weights = torch.load(path, weights_only=True)["state_dict"]["model.vocabulary.weight"]
    position = path.read_bytes().index(weights.numpy().tobytes())
    flip(path, position + 5)
    assert not torch.equal(
        torch.load(path, weights_only=True)["state_dict"]["model.vocabulary.weight"], weights
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def same(a: dict, b: dict) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def steps(folder: Path, kind: str = "step") -> list[int]:
    return [run_folder.step_of(path) for path in list_checkpoints(folder, kind)]


def test_a_flipped_bit_of_a_state_is_not_continued(run, tiny_run, tmp_path, capsys):
    undisturbed = run(tiny_run, tmp_path)
    newest = list_checkpoints(tmp_path, "step")[-1]
    flip_weights(newest)
    capsys.readouterr()
    assert same(run(tiny_run, tmp_path), undisturbed)
    error = capsys.readouterr().err
    assert f"{newest}: damaged: wrong checksum of" in error
    assert "continuing after step 10" in error
    assert (tmp_path / "superseded-0001" / newest.name).exists()


def test_a_flipped_bit_of_the_best_weights_is_not_continued(run, tiny_run, tmp_path, capsys):
    undisturbed = run(tiny_run, tmp_path)
    best = list_checkpoints(tmp_path, "best")[-1]
    flip_weights(best)
    assert same(run(tiny_run, tmp_path), undisturbed)
    assert f"{best}: damaged: wrong checksum of" in capsys.readouterr().err


class FlipBest(pl.Callback):
    """Damages the best weights after the last step, before they are read for the model."""

    def on_train_end(self, trainer, pl_module):
        for path in list_checkpoints(Path(trainer.default_root_dir), "best"):
            flip_weights(path)


@pytest.mark.parametrize("kind", ["step", "best"])
def test_a_state_of_another_run_is_not_continued(run, tiny_run, tmp_path, capsys, kind):
    expected = run(tiny_run, tmp_path / "whole")
    run(tiny_run, tmp_path / "part", max_steps=12)
    run(tiny_run, tmp_path / "other", learning_rate=0.02)
    for step in steps(tmp_path / "part", kind):
        other = list_checkpoints(tmp_path / "other", kind)[0]
        shutil.copy(other, tmp_path / "part" / f"{kind}_{step:09d}.ckpt")
    assert same(run(tiny_run, tmp_path / "part"), expected)
    assert ".ckpt: it comes from a run with other settings" in capsys.readouterr().err


def test_damaged_best_weights_are_no_result(run, tiny_run, tmp_path):
    with pytest.raises(
        InputError, match=r"best_\d+\.ckpt: damaged: wrong checksum .* so no model was written"
    ):
        run(tiny_run, tmp_path / "a", FlipBest())
    undisturbed = run(tiny_run, tmp_path / "b")
    assert same(run(tiny_run, tmp_path / "a"), undisturbed)


def test_states_after_two_damaged_ones_are_kept(run, tiny_run, tmp_path):
    """With steps 10 and 12 in the folder each new state would have been the oldest, and deleted."""
    undisturbed = run(tiny_run, tmp_path)
    for path in list_checkpoints(tmp_path, "step"):
        path.write_bytes(b"")

    class Stop(pl.Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            if trainer.global_step == 7:
                raise InterruptedError("on purpose")

    with pytest.raises(InterruptedError, match="on purpose"):
        run(tiny_run, tmp_path, Stop())
    assert steps(tmp_path) == [4, 6]
    assert same(run(tiny_run, tmp_path), undisturbed)
    assert sorted(p.name[:4] for p in (tmp_path / "superseded-0001").glob("step*")) == ["step"] * 2


def without(path: Path, *keys, old: bool) -> None:
    """Delete a part of a checkpoint; `old`: as an earlier version wrote it, without a checksum."""
    checkpoint = torch.load(path, weights_only=True)
    inner = checkpoint
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    if old:
        del checkpoint[CONTENT]
    torch.save(checkpoint, path)


@pytest.mark.parametrize(
    "keys",
    [
        ("state_dict",),
        ("state_dict", "model.next.bias"),
        ("callbacks", "History"),
        ("callbacks", "Checkpoints", "best_step"),
        ("optimizer_states",),
        ("optimizer_states", 0),
        ("optimizer_states", 0, "state", 0, "exp_avg"),
        ("loops", "fit_loop", "epoch_loop.batch_progress", "total"),
        ("lr_schedulers", 0, "last_epoch"),
        ("history_windows",),
    ],
    ids=lambda keys: ".".join(map(str, keys)),
)
def test_a_state_without_a_part_falls_back(run, tiny_run, tmp_path, capsys, keys):
    """Some of them stopped with a traceback; without others the run went on to other weights."""
    undisturbed = run(tiny_run, tmp_path)
    newest = list_checkpoints(tmp_path, "step")[-1]
    without(newest, *keys, old=False)
    assert same(run(tiny_run, tmp_path), undisturbed)
    error = capsys.readouterr().err
    assert any(f"{newest}: damaged: {x}" in error for x in ("it lacks ", "its content is not what"))


@pytest.mark.parametrize("key", WHOLE_STATE)
def test_an_old_state_without_a_part_falls_back(run, tiny_run, tmp_path, capsys, key):
    undisturbed = run(tiny_run, tmp_path)
    newest = list_checkpoints(tmp_path, "step")[-1]
    without(newest, key, old=True)
    assert same(run(tiny_run, tmp_path), undisturbed)
    assert f"{newest}: damaged: it lacks {key};" in capsys.readouterr().err


@pytest.mark.parametrize(
    "keys",
    [
        ("state_dict", "model.next.bias"),
        ("optimizer_states", 0, "state"),
        ("loops", "fit_loop", "epoch_loop.batch_progress", "total"),
    ],
)
def test_what_no_check_finds_in_an_old_state_is_one_line(run, tiny_run, tmp_path, keys):
    run(tiny_run, tmp_path)
    without(list_checkpoints(tmp_path, "step")[-1], *keys, old=True)
    with pytest.raises(InputError, match=r"step_000000012\.ckpt: cannot continue from it: .*Move"):
        run(tiny_run, tmp_path)


def test_old_checkpoints_are_continued(run, tiny_run, tmp_path, capsys):
    undisturbed = run(tiny_run, tmp_path)
    for kind in ("step", "best"):
        for path in list_checkpoints(tmp_path, kind):
            without(path, CONTENT, old=False)
    capsys.readouterr()
    assert same(run(tiny_run, tmp_path), undisturbed)
    assert "validation" not in capsys.readouterr().err  # there was nothing left to do


def denied(*_, **__):
    raise PermissionError(13, "Permission denied")


def no_memory(*_, **__):
    raise MemoryError


def torch_without_memory(*_, **__):
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")


def failing_disk(*_, **__):
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        (denied, "Permission denied"),
        (failing_disk, "Input/output error"),
        (no_memory, "not enough memory"),
        (torch_without_memory, "not enough memory"),
    ],
)
def test_what_cannot_be_read_now_stops_and_changes_nothing(
    run, tiny_run, tmp_path, monkeypatch, reading, reason
):
    run(tiny_run, tmp_path, max_steps=8)
    before = snapshot(tmp_path)
    monkeypatch.setattr("torch.load", reading)
    with pytest.raises(InputError, match=rf"000008\.ckpt: cannot read it now: {reason}; nothing"):
        run(tiny_run, tmp_path, max_steps=8)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["settings.json", "step_000000008.ckpt", "best_000000008.ckpt"])
def test_no_permission_stops_and_changes_nothing(run, tiny_run, tmp_path, monkeypatch, name):
    run(tiny_run, tmp_path, max_steps=8)
    before = snapshot(tmp_path)
    usual = builtins.open

    def checked(path, *arguments, **options):
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path, *arguments, **options)

    monkeypatch.setattr("builtins.open", checked)
    monkeypatch.setattr("io.open", checked)
    with pytest.raises(InputError, match=rf"{name}: cannot (read|use) it.*: Permission denied; .*"):
        run(tiny_run, tmp_path, max_steps=8)
    monkeypatch.undo()
    assert snapshot(tmp_path) == before


@pytest.fixture
def shared_folder():
    """A folder that another user can reach; pytest's own belong to one user alone."""
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/tmp")))
    folder.chmod(0o777)
    yield folder
    for path in folder.rglob("*"):
        path.chmod(0o777)
    shutil.rmtree(folder)


def refusal_of_other_user(folder: Path, settings: dict) -> str:
    """Return what `open_run` says to a user without privileges, in a process of its own."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            text = f"continues from {open_run(folder, settings)}"
        except InputError as error:
            text = f"refused: {error}"
        except BaseException as error:
            text = repr(error)
        os.write(writes, text.encode())
        os._exit(0)
    os.close(writes)
    with open(reads, "rb") as stream:
        text = stream.read().decode()
    os.waitpid(child, 0)
    return text


@pytest.mark.parametrize(
    "name", ["step_000000008.ckpt", "settings.json", "best_000000008.ckpt", "."]
)
def test_another_user_starts_nothing_over(run, tiny_run, shared_folder, name):
    run(tiny_run, shared_folder / "c", max_steps=8)
    folder = shared_folder / "c"
    settings = run_folder.read_settings(folder)
    folder.chmod(0o777)
    for path in folder.iterdir():
        path.chmod(0o666)
    before = snapshot(folder)
    (folder / name).chmod(0o333 if name == "." else 0)
    text = refusal_of_other_user(folder, settings)
    assert text.startswith("refused: "), text
    assert "Permission denied" in text
    assert str(folder / name) in text
    folder.chmod(0o777)
    (folder / name).chmod(0o777)
    assert snapshot(folder) == before


def test_other_settings_move_old_states_aside(run, tiny_run, tmp_path, capsys):
    run(tiny_run, tmp_path, max_steps=8)
    before = {name: text for name, text in snapshot(tmp_path).items() if name != ".lock"}
    run(tiny_run, tmp_path, max_steps=12)
    aside = tmp_path / "superseded-0001"
    assert f"training starts over; the earlier states are in {aside}" in capsys.readouterr().err
    assert snapshot(aside) == before
    assert max(steps(tmp_path)) == 12
    run(tiny_run, tmp_path, max_steps=8)
    assert "step_000000012.ckpt" in snapshot(tmp_path / "superseded-0002")
    assert snapshot(aside) == before


def test_states_without_readable_settings_are_moved_too(run, tiny_run, tmp_path, capsys):
    run(tiny_run, tmp_path, max_steps=8)
    (tmp_path / "settings.json").write_text("{")
    run(tiny_run, tmp_path, max_steps=8)
    assert "checkpoints without readable settings.json" in capsys.readouterr().err
    assert "step_000000008.ckpt" in snapshot(tmp_path / "superseded-0001")


def check_flips(path: Path, count: int, seed: int) -> None:
    """Hold flips and truncations at drawn places to: the same content, or DamagedError."""
    content, expected = path.read_bytes(), read_checkpoint(path, WHOLE_STATE)
    draw, damaged = random.Random(seed), 0
    for _ in range(count):
        changed = bytearray(content)
        if draw.random() < 0.1:
            del changed[draw.randrange(len(content)) :]
        else:
            changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        try:
            found = read_checkpoint(path, WHOLE_STATE)
        except DamagedError:
            damaged += 1
        else:
            assert repr(found) == repr(expected)
    assert damaged > count / 4


@pytest.fixture
def state(run, tiny_run, tmp_path):
    run(tiny_run, tmp_path, max_steps=4)
    return list_checkpoints(tmp_path, "step")[-1]


def test_any_flipped_bit_is_found_or_harmless(state):
    check_flips(state, 300, seed=0)


@pytest.mark.slow
def test_many_flipped_bits_are_found_or_harmless(state):
    check_flips(state, 8000, seed=1)


def test_the_checksum_covers_names_types_and_values(tmp_path):
    def digest(**changes):
        return content_sha256({"a": {"b": [1, torch.zeros(2, 3)]}, "c": (1.5, None)} | changes)

    assert digest() == digest()
    for changes in (
        {"c": (2.5, None)},
        {"a": {"b": [1, torch.zeros(2, 3) + 1e-30]}},
        {"a": {"b": [1]}},
        {"a": {"x": [1, torch.zeros(2, 3)]}},
        {"a": {"b": [1, torch.zeros(3, 2)]}},
        {"a": {"b": [1, torch.zeros(2, 3, dtype=torch.int32)]}},
        {"c": (1, None)},
        {"d": 1},
    ):
        assert digest(**changes) != digest(), changes
    checkpoint = {"state_dict": {"w": torch.ones(2)}}
    save_checkpoint(checkpoint, tmp_path / "c.ckpt")
    assert list(checkpoint) == ["state_dict"]
    assert list(read_checkpoint(tmp_path / "c.ckpt")) == ["state_dict"]
