"""When checkpoints are written: by steps, by minutes on the clock of the first process."""

from types import SimpleNamespace

import pytest
import pytorch_lightning as pl
import torch

from dna_bigbird.training import checkpoints, history
from dna_bigbird.training.checkpoints import Checkpoints
from dna_bigbird.training.fit import fit
from dna_bigbird.training.history import History


@pytest.fixture
def saved_at(tiny_run, tmp_path, monkeypatch):
    """Function (folder, seconds a step, **settings) -> (steps that were saved, weights, history)."""

    def run(name, step_s, **settings):
        clock = SimpleNamespace(now=0.0)
        steps = []

        class Watched(Checkpoints):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs, clock=lambda: clock.now)

            @property
            def state_key(self):
                return "Checkpoints"

            def save(self, trainer):
                steps.append(trainer.global_step)
                super().save(trainer)

        monkeypatch.setattr("dna_bigbird.training.fit.Checkpoints", Watched)
        task, data, config = tiny_run(**settings)
        step = task.training_step

        def training_step(batch, batch_idx):
            clock.now += step_s / config.accumulate
            return step(batch, batch_idx)

        task.training_step = training_step
        result = fit(task, data, config, checkpoints=tmp_path / name, seed=3, settings={})
        return steps, task.model.state_dict(), result.history

    return run


@pytest.mark.parametrize(
    ("step_s", "minutes", "every_steps", "expected"),
    [
        (60, 0, 0, [4, 8, 12]),
        (60, 3, 0, [3, 4, 7, 8, 11, 12]),  # a validation saves too, and starts the time anew
        (40, 1, 0, [2, 4, 6, 8, 10, 12]),
        (10, 1, 0, [4, 8, 12]),
        (10, 0.5, 5, [3, 4, 5, 8, 10, 12]),
    ],
)
def test_minutes(saved_at, step_s, minutes, every_steps, expected):
    settings = {"checkpoint_every_minutes": minutes, "checkpoint_every_steps": every_steps}
    assert saved_at("a", step_s, **settings, accumulate=2)[0] == expected


def test_saving_changes_no_result(saved_at):
    _, weights, history = saved_at("a", 60)
    _, same, again = saved_at("b", 60, checkpoint_every_minutes=1)
    assert again == history
    assert all(torch.equal(value, same[name]) for name, value in weights.items())


@pytest.mark.parametrize("is_first", [True, False])
def test_only_the_first_process_decides(tmp_path, is_first, monkeypatch):
    """Clocks differ between nodes; what is shared is the answer of the first."""
    asked = []

    def highest(trainer, flag):
        asked.append(flag)
        return True  # as the other process says

    monkeypatch.setattr(checkpoints, "highest", highest)

    trainer = SimpleNamespace(
        world_size=2,
        is_global_zero=is_first,
        accumulate_grad_batches=1,
        global_step=3,
        save_checkpoint=lambda path: asked.append(path.name),
    )
    keeper = Checkpoints(
        tmp_path, every_steps=0, every_minutes=1, validate_every=10, patience=0, clock=lambda: 0.0
    )
    keeper.saved_at = -100.0
    keeper.on_train_batch_end(trainer, None, None, None, 2)
    assert asked == [is_first, "step_000000003.ckpt"]


def test_history_is_on_disk_while_the_run_goes_on(tiny_run, tmp_path):
    """Stopped in the middle, the file has every row so far; the next start begins where it was."""
    seen = {}

    class Stop(pl.Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            text = (tmp_path / "history.tsv").read_text()
            seen[trainer.global_step] = {int(row.split("\t")[0]) for row in text.split("\n")[1:-1]}
            if trainer.global_step == 11:
                raise RuntimeError("stopped")

    task, data, config = tiny_run()
    with pytest.raises(RuntimeError, match="stopped"):
        fit(task, data, config, checkpoints=tmp_path, seed=3, settings={}, callbacks=(Stop(),))
    assert (seen[2], seen[4], seen[10]) == (set(), {3, 4}, {3, 4, 6, 8, 9})
    task, data, config = tiny_run()
    result = fit(task, data, config, checkpoints=tmp_path, seed=3, settings={})
    assert (tmp_path / "history.tsv").read_text() == result.history


@pytest.mark.parametrize("step_s", [100.0, 0.1])
def test_the_time_that_is_left_is_told_after_four_steps_if_it_is_long(
    tiny_run, tmp_path, monkeypatch, capsys, step_s
):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(history, "time", SimpleNamespace(monotonic=lambda: clock.now))
    task, data, config = tiny_run()
    step = task.training_step

    def training_step(batch, batch_idx):
        clock.now += step_s / config.accumulate
        return step(batch, batch_idx)

    task.training_step = training_step
    fit(task, data, config, checkpoints=tmp_path, seed=3, settings={})
    told = [line for line in capsys.readouterr().err.splitlines() if "about" in line]
    minutes, seconds = divmod(round((config.max_steps - 4) * step_s), 60)
    expected = f"step 4/{config.max_steps}: about {minutes:02}:{seconds:02} "
    assert [line.startswith(expected) for line in told] == [True] * (step_s > 1)


def histories(seen):
    """A window of each process, saved together."""
    made = [History(None, 5) for _ in seen]
    for each, value in zip(made, seen, strict=True):
        each.window = {"loss": torch.tensor([value, 1.0], dtype=torch.float64)}
    return made


@pytest.mark.parametrize(
    ("world_size", "expected"),
    [(2, [{"loss": [3.0, 1.0]}, {"loss": [4.0, 1.0]}]), (1, [{"loss": [7.0, 2.0]}])],
)
def test_every_process_keeps_its_own_sums(monkeypatch, world_size, expected):
    """Saved by two processes in the middle of a window; read by two, or by one for both."""
    before = histories([3.0, 4.0])

    def gather(found, given):
        found[:] = [each.window for each in before]

    monkeypatch.setattr(torch.distributed, "all_gather_object", gather)
    checkpoint = {}
    before[0].on_save_checkpoint(SimpleNamespace(world_size=2), None, checkpoint)
    for rank in range(world_size):
        trainer = SimpleNamespace(world_size=world_size, global_rank=rank, is_global_zero=rank == 0)
        after = History(None, 5)
        after.on_load_checkpoint(trainer, None, checkpoint)
        assert {name: value.tolist() for name, value in after.window.items()} == expected[rank]
