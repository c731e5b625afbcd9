"""A run is the same, bit for bit, whether it was disturbed or not."""

import os
import signal

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.environments import LightningEnvironment, SLURMEnvironment

from dna_bigbird.core.errors import InputError
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.fit import cluster_plugins, fit, training_settings
from dna_bigbird.training.run_folder import list_checkpoints, locked, read_settings


class KilledError(Exception):
    pass


class KillAt(pl.Callback):
    """Ends the run in the middle: when a step begins, ends, or just after a validation."""

    def __init__(self, step: int, when: str) -> None:
        self.step, self.when = step, when

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if self.when == "start" and trainer.global_step == self.step:
            raise KilledError("on purpose")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self.when == "end" and trainer.global_step == self.step:
            raise KilledError("on purpose")

    def on_validation_start(self, trainer, pl_module):
        if self.when == "validation" and trainer.global_step == self.step:
            raise KilledError("on purpose")


def run(tiny_run, folder, callbacks=(), **settings):
    task, data, config = tiny_run(**settings)
    result = fit(
        task, data, config, checkpoints=folder, seed=3, settings={"x": 1}, callbacks=callbacks
    )
    return task.model.state_dict(), result


def newest_state(folder):
    return torch.load(list_checkpoints(folder, "step")[-1], weights_only=True)


def assert_same_run(folder_a, folder_b, a, b):
    """Same exported weights and history; same weights and optimizer after the last step."""
    for name, value in a[0].items():
        assert torch.equal(value, b[0][name]), name
    assert a[1] == b[1]
    last_a, last_b = newest_state(folder_a), newest_state(folder_b)
    for name, value in last_a["state_dict"].items():
        assert torch.equal(value, last_b["state_dict"][name]), name
    moments_a = last_a["optimizer_states"][0]["state"]
    moments_b = last_b["optimizer_states"][0]["state"]
    for i, state in moments_a.items():
        assert all(torch.equal(v, moments_b[i][k]) for k, v in state.items()), i
    assert last_a["global_step"] == last_b["global_step"]


@pytest.fixture(scope="module")
def settings():
    return {"accumulate": 2, "checkpoint_every_steps": 3, "gradient_clip": 1.0}


@pytest.mark.parametrize(
    ("step", "when"),
    [
        (0, "start"),
        (2, "end"),
        (3, "end"),
        (4, "validation"),
        (4, "start"),
        (5, "start"),
        (8, "start"),
        (9, "start"),
        (12, "validation"),
        (12, "end"),
    ],
)
def test_a_killed_run_ends_like_an_undisturbed_one(tiny_run, tmp_path, settings, step, when):
    undisturbed = run(tiny_run, tmp_path / "a", **settings)
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(KillAt(step, when),), **settings)
    continued = run(tiny_run, tmp_path / "b", **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_killed_run_with_muon_ends_like_an_undisturbed_one(
    muon_run, tmp_path, settings, precision
):
    """Killed in the warm-up and in the decay."""
    settings = settings | {"precision": precision, "max_steps": 8}
    undisturbed = run(muon_run, tmp_path / "a", **settings)
    for step in (1, 7):
        with pytest.raises(KilledError, match="on purpose"):
            run(muon_run, tmp_path / "b", callbacks=(KillAt(step, "start"),), **settings)
    continued = run(muon_run, tmp_path / "b", **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


def test_killed_again_and_again(tiny_run, tmp_path, settings):
    undisturbed = run(tiny_run, tmp_path / "a", **settings)
    for step in (1, 4, 7, 10, 11):
        with pytest.raises(KilledError, match="on purpose"):
            run(tiny_run, tmp_path / "b", callbacks=(KillAt(step, "start"),), **settings)
    continued = run(tiny_run, tmp_path / "b", **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


def test_data_workers_change_nothing(tiny_run, tmp_path, settings):
    alone = run(tiny_run, tmp_path / "a", **settings)
    helped = run(tiny_run, tmp_path / "b", workers=2, **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", alone, helped)


def test_muon_adds_up_what_is_split(muon_run, tmp_path):
    """Two micro-batches of 4 are one of 8: the same gradient, so the same step but for rounding."""
    one = {"max_steps": 1, "validate_every": 1, "gradient_clip": 1.0, "warmup_steps": 0}
    split = run(muon_run, tmp_path / "a", accumulate=2, **one)[0]
    whole = run(muon_run, tmp_path / "b", batch_size=8, **one)[0]
    half = run(muon_run, tmp_path / "c", **one)[0]
    names = [name for name in whole if ".layers." in name and whole[name].ndim == 2]
    assert len(names) == 8
    for name in names:
        torch.testing.assert_close(split[name], whole[name], rtol=0, atol=1e-5, msg=name)
        assert (half[name] - whole[name]).abs().max() > 1e-3, name


def test_a_finished_run_has_nothing_left_to_do(tiny_run, tmp_path):
    first = run(tiny_run, tmp_path)
    again = run(tiny_run, tmp_path, callbacks=(KillAt(12, "start"),))
    assert_same_run(tmp_path, tmp_path, first, again)


def test_history_has_every_window_and_validation_once(tiny_run, tmp_path):
    _, result = run(tiny_run, tmp_path)
    rows = [line.split("\t") for line in result.history.splitlines()]
    assert rows[0] == ["step", "split", "name", "value"]
    steps = {
        split: [r[0] for r in rows if r[1] == split and r[2] == "loss"]
        for split in ("train", "validation")
    }
    assert steps == {"train": ["3", "6", "9", "12"], "validation": ["4", "8", "12"]}
    bits = [
        (float(r[3]), int(r[0])) for r in rows if r[1:3] == ["validation", "bits_per_base_masked"]
    ]
    assert result.best_step == min(bits)[1]


def test_the_best_step_is_exported_not_the_last(tiny_run, tmp_path):
    weights, result = run(tiny_run, tmp_path, learning_rate=3.0)
    best = torch.load(tmp_path / f"best_{result.best_step:09d}.ckpt", weights_only=True)
    assert all(torch.equal(v, best["state_dict"][f"model.{k}"]) for k, v in weights.items())


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "no best"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    tiny_run, tmp_path, settings, capsys, damage
):
    undisturbed = run(tiny_run, tmp_path / "a", **settings)
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(KillAt(9, "start"),), **settings)
    newest = list_checkpoints(tmp_path / "b", "step")[-1]
    content = newest.read_bytes()
    if damage == "cut":
        newest.write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        newest.write_bytes(b"")
    elif damage == "flipped":
        middle = len(content) // 2
        newest.write_bytes(content[:middle] + bytes(64) + content[middle + 64 :])
    else:
        for path in list_checkpoints(tmp_path / "b", "best"):
            path.unlink()
    capsys.readouterr()
    continued = run(tiny_run, tmp_path / "b", **settings)
    assert "; looking for a training state older than step_" in capsys.readouterr().err
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


def test_checkpoints_run_no_code(tiny_run, tmp_path):
    """A pickle that would call something is not read: training starts over."""

    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("code from a checkpoint was run",))

    undisturbed = run(tiny_run, tmp_path / "a")
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(KillAt(5, "start"),))
    for path in list_checkpoints(tmp_path / "b", "step"):
        torch.save({"callbacks": Evil()}, path)
    continued = run(tiny_run, tmp_path / "b")
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


def test_other_settings_start_over_and_say_so(tiny_run, tmp_path, capsys):
    run(tiny_run, tmp_path / "b", learning_rate=5e-3)
    changed = run(tiny_run, tmp_path / "b")
    assert "training.learning_rate: 0.005 -> 0.01); training starts over" in capsys.readouterr().err
    fresh = run(tiny_run, tmp_path / "a")
    assert_same_run(tmp_path / "a", tmp_path / "b", fresh, changed)


@pytest.mark.parametrize(
    "changed", [{"max_steps": 16}, {"accumulate": 4}, {"learning_rate": 0.5}], ids=str
)
def test_an_unfinished_run_of_other_settings_is_not_given_up(tiny_run, tmp_path, settings, changed):
    undisturbed = run(tiny_run, tmp_path / "a", **settings)
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(KillAt(9, "start"),), **settings)
    before = {path: path.read_bytes() for path in (tmp_path / "b").iterdir()}
    with pytest.raises(InputError, match=r"^\S*/b: settings changed .*--checkpoints") as caught:
        run(tiny_run, tmp_path / "b", **settings | changed)
    assert "step 9 of 12" in str(caught.value)
    assert {path: path.read_bytes() for path in (tmp_path / "b").iterdir()} == before
    continued = run(tiny_run, tmp_path / "b", **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)
    run(tiny_run, tmp_path / "b", **settings | changed)  # it has finished


@pytest.fixture
def bf16_here(monkeypatch):
    """Function (bool): whether this machine now has bfloat16 products."""

    def set_to(found):
        monkeypatch.setattr("dna_bigbird.models.precision.has_bf16_products", lambda device: found)

    return set_to


@pytest.mark.parametrize(("found", "expected"), [(True, "bf16-mixed"), (False, "32-true")])
def test_auto_is_what_the_processor_is_good_at(
    tiny_run, tmp_path, bf16_here, capsys, found, expected
):
    bf16_here(found)
    chosen = run(tiny_run, tmp_path / "a", precision="auto")
    assert f"note: training in {expected}" in capsys.readouterr().err
    named = run(tiny_run, tmp_path / "b", precision=expected)
    assert "training in" not in capsys.readouterr().err
    assert_same_run(tmp_path / "a", tmp_path / "b", chosen, named)
    assert (chosen[1].precision, read_settings(tmp_path / "a")["training"]["precision"]) == (
        expected,
        expected,
    )
    other = run(
        tiny_run, tmp_path / "c", precision={"bf16-mixed": "32-true"}.get(expected, "bf16-mixed")
    )
    assert not torch.equal(other[0]["vocabulary.weight"], named[0]["vocabulary.weight"])


@pytest.mark.parametrize("begun", [True, False])
def test_auto_goes_on_in_the_arithmetic_it_began_with(tiny_run, tmp_path, bf16_here, capsys, begun):
    """A job that is queued again may wake up on a node with another processor."""
    bf16_here(begun)
    undisturbed = run(tiny_run, tmp_path / "a", precision="auto")
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(KillAt(9, "start"),), precision="auto")
    bf16_here(not begun)
    kill = KillAt(7, "end")  # a run that started over would come to this step again
    continued = run(tiny_run, tmp_path / "b", callbacks=(kill,), precision="auto")
    assert "starts over" not in capsys.readouterr().err
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


@pytest.mark.parametrize("begun", [True, False])
def test_muon_goes_on_in_the_arithmetic_it_began_with(muon_run, tmp_path, bf16_here, capsys, begun):
    """Also if the precision of the training is given by name."""
    bf16_here(begun)
    mixed = {"precision": "bf16-mixed", "max_steps": 8}
    undisturbed = run(muon_run, tmp_path / "a", **mixed)
    with pytest.raises(KilledError, match="on purpose"):
        run(muon_run, tmp_path / "b", callbacks=(KillAt(5, "start"),), **mixed)
    bf16_here(not begun)
    kill = KillAt(3, "end")  # a run that started over would come to this step again
    continued = run(muon_run, tmp_path / "b", callbacks=(kill,), **mixed)
    assert "starts over" not in capsys.readouterr().err
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)
    products = "bfloat16" if begun else "float32"
    assert continued[1].muon_precision == products
    assert read_settings(tmp_path / "b")["training"]["muon_precision"] == products


def test_other_products_by_name_start_over(muon_run, tmp_path, capsys):
    run(muon_run, tmp_path, muon_precision="bfloat16", max_steps=4)
    run(muon_run, tmp_path, muon_precision="float32", max_steps=4)
    assert "training.muon_precision: bfloat16 -> float32" in capsys.readouterr().err


def test_another_precision_by_name_starts_over(tiny_run, tmp_path, capsys):
    run(tiny_run, tmp_path, precision="bf16-mixed")
    run(tiny_run, tmp_path, precision="32-true")
    assert "training.precision: bf16-mixed -> 32-true" in capsys.readouterr().err


class SeesProducts(pl.Callback):
    """Notes the setting of float32 products in every step."""

    def __init__(self):
        self.seen = set()

    def on_train_batch_start(self, *_):
        self.seen.add(torch.backends.mkldnn.matmul.fp32_precision)


def test_float32_products_are_set_for_the_run_only(tiny_run, tmp_path):
    before = torch.backends.mkldnn.matmul.fp32_precision
    seen = SeesProducts()
    run(tiny_run, tmp_path / "a", callbacks=(seen,), float32_matmul="onednn")
    assert seen.seen == {"bf16"}
    assert torch.backends.mkldnn.matmul.fp32_precision == before
    kill = KillAt(2, "start")
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(kill,), float32_matmul="onednn")
    assert torch.backends.mkldnn.matmul.fp32_precision == before


def test_a_run_goes_on_where_a_step_is_split_otherwise(tiny_run, tmp_path, settings):
    """A checkpoint as two processes write it: each had half of the micro-batches."""
    undisturbed = run(tiny_run, tmp_path / "a", **settings)
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(KillAt(7, "start"),), **settings)
    newest = list_checkpoints(tmp_path / "b", "step")[-1]
    state = torch.load(newest, weights_only=True)
    progress = state["loops"]["fit_loop"]["epoch_loop.batch_progress"]
    for counts in (progress["total"], progress["current"]):
        for name in counts:
            counts[name] -= state["global_step"]
    torch.save(state, newest)
    continued = run(tiny_run, tmp_path / "b", **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


def test_the_number_of_processes_is_no_setting(tiny_run, tmp_path, capsys):
    """Four micro-batches a step are four, whoever computes them."""
    assert training_settings(TrainConfig(accumulate=4)) == training_settings(
        TrainConfig(accumulate=1, devices=2, nodes=2, workers=3)
    )
    assert training_settings(TrainConfig(accumulate=4)) != training_settings(TrainConfig())


def test_patience_stops_and_stays_stopped(tiny_run, tmp_path):
    settings = {"learning_rate": 3.0, "validate_every": 1, "patience": 2}
    first = run(tiny_run, tmp_path, **settings)
    stopped_after = newest_state(tmp_path)["global_step"]
    assert stopped_after == first[1].best_step + 2 < 12
    again = run(tiny_run, tmp_path, callbacks=(KillAt(stopped_after, "start"),), **settings)
    assert newest_state(tmp_path)["global_step"] == stopped_after
    assert_same_run(tmp_path, tmp_path, first, again)
    run(tiny_run, tmp_path, **settings | {"max_steps": 6})  # it has finished, before its last step


def test_divergence_names_step_and_examples(tiny_run, tmp_path):
    task, data, config = tiny_run()
    with torch.no_grad():
        task.model.vocabulary.bias[7] = float("nan")
    with pytest.raises(
        InputError, match=r"not a number at step 1, on process 0, .*examples 0, 1, 2, 3\."
    ):
        fit(task, data, config, checkpoints=tmp_path, seed=0, settings={})
    assert list_checkpoints(tmp_path, "step") == []


def test_a_folder_in_use_is_refused(tiny_run, tmp_path):
    with locked(tmp_path), pytest.raises(InputError, match="another process trains in this folder"):
        run(tiny_run, tmp_path)


def test_only_few_files_stay(tiny_run, tmp_path):
    dead = tmp_path / ".step_000000001.ckpt.0123456789ab.partial"  # of a killed run
    dead.mkdir()
    (dead / "lock").touch()
    (dead / "half").write_bytes(b"0")
    run(tiny_run, tmp_path, max_steps=12, validate_every=1)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [n for n in names if n.startswith("step")] == [
        "step_000000011.ckpt",
        "step_000000012.ckpt",
    ]
    assert len([n for n in names if n.startswith("best")]) <= 2
    assert [n for n in names if n.startswith(".")] == [".lock"]


class SignalAt(pl.Callback):
    """Sends SIGUSR1 to this process while a step is being computed."""

    def __init__(self, step):
        self.step = step

    def on_before_backward(self, trainer, pl_module, loss):
        first = trainer.fit_loop.total_batch_idx % trainer.accumulate_grad_batches == 0
        if trainer.global_step == self.step and first:
            os.kill(os.getpid(), signal.SIGUSR1)


@pytest.mark.parametrize("step", [1, 3, 6])
def test_a_job_near_its_end_saves_and_is_queued_again(
    tiny_run, tmp_path, settings, monkeypatch, capsys, step
):
    """Step 4 of the second case is followed by its validation, which must not be lost."""
    undisturbed = run(tiny_run, tmp_path / "a", **settings)
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", str(scontrol.parent), prepend=":")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    kill = KillAt(step + 1, "start")  # what SLURM does next
    with pytest.raises(KilledError, match="on purpose"):
        run(tiny_run, tmp_path / "b", callbacks=(SignalAt(step), kill), **settings)
    assert f"saved after step {step + 1}" in capsys.readouterr().err
    assert (tmp_path / "calls").read_text() == "requeue 77\n"
    assert newest_state(tmp_path / "b")["global_step"] == step + 1
    continued = run(tiny_run, tmp_path / "b", **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)


def test_slurm_is_believed_only_if_it_started_several_tasks(monkeypatch):
    two = TrainConfig(devices=2)
    monkeypatch.setenv("SLURM_NTASKS", "1")
    assert [type(x) for x in cluster_plugins(two)] == [LightningEnvironment]
    monkeypatch.setenv("SLURM_NTASKS", "2")
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "2")
    assert [type(x) for x in cluster_plugins(TrainConfig())] == [LightningEnvironment]
    (environment,) = cluster_plugins(two)
    assert isinstance(environment, SLURMEnvironment)
    assert not environment.auto_requeue
