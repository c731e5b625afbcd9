"""Means of weights: against means of the weights that a callback has kept, and over kills."""

import pytest
import pytorch_lightning as pl
import torch

from dna_bigbird.training.checkpoint_files import read_checkpoint
from dna_bigbird.training.objective import ratios
from dna_bigbird.training.run_folder import best_path
from tests.tasks.test_fit import KillAt, KilledError, assert_same_run, newest_state, run

SETTINGS = {"accumulate": 2, "checkpoint_every_steps": 3}
EMA, SWA = {"ema_decay": 0.6}, {"swa_share": 0.5}


class Kept(pl.Callback):
    """The weights after each step, float64, and the weights that each validation reads."""

    def __init__(self):
        self.after_step, self.validated = {}, {}

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.after_step[trainer.global_step] = self.weights(pl_module)

    def on_validation_end(self, trainer, pl_module):
        sums = {}
        for batch in trainer.val_dataloaders:
            for name, value in pl_module.loss_and_sums(batch)[1].items():
                sums[name] = sums.get(name, 0) + value
        self.validated[trainer.global_step] = (
            self.weights(pl_module),
            ratios(sums),
            dict(pl_module.validation_metrics),
        )

    def weights(self, pl_module):
        state = pl_module.state_dict()
        return {name: x.double().clone() for name, x in state.items()}


def moving_mean(steps):
    """Of a list of tensors: 0.6 of the mean before, in the first steps (1 + n) / (10 + n)."""
    mean = steps[0]
    for n, weight in enumerate(steps[1:], start=1):
        decay = min(0.6, (1 + n) / (10 + n))
        mean = decay * mean + (1 - decay) * weight
    return mean


def expected(kept, settings, step, name):
    steps = [kept.after_step[s][name] for s in range(1, step + 1)]
    if "ema_decay" in settings:
        return moving_mean(steps)
    counted = steps[6:]  # the last half of 12 steps
    return torch.stack(counted).mean(0) if counted else steps[-1]


@pytest.mark.parametrize("settings", [EMA, SWA], ids=str)
def test_the_mean_of_the_steps_is_validated_and_exported(tiny_run, tmp_path, settings):
    kept = Kept()
    weights, result = run(tiny_run, tmp_path, callbacks=(kept,), **SETTINGS, **settings)
    assert sorted(kept.validated) == [4, 8, 12]
    for step, (validated, again, metrics) in kept.validated.items():
        for name, found in validated.items():
            mean = expected(kept, settings, step, name)
            torch.testing.assert_close(found, mean, rtol=0, atol=1e-6)
        assert again == pytest.approx(metrics)
    best = kept.validated[result.best_step][0]
    exported = read_checkpoint(best_path(tmp_path, result.best_step))["state_dict"]
    for name, value in weights.items():
        assert torch.equal(value.double(), best[f"model.{name}"])
        assert torch.equal(value, exported[f"model.{name}"])
        mean, last = best[f"model.{name}"], kept.after_step[12][f"model.{name}"]
        assert not torch.allclose(mean, last, atol=1e-4)


@pytest.mark.parametrize("settings", [EMA, SWA], ids=str)
def test_training_itself_does_not_notice(tiny_run, tmp_path, settings):
    plain, averaged = Kept(), Kept()
    run(tiny_run, tmp_path / "a", callbacks=(plain,), **SETTINGS)
    run(tiny_run, tmp_path / "b", callbacks=(averaged,), **SETTINGS, **settings)
    for step, weights in plain.after_step.items():
        for name, value in weights.items():
            assert torch.equal(value, averaged.after_step[step][name]), (step, name)


@pytest.mark.parametrize("settings", [EMA, SWA], ids=str)
def test_a_killed_run_ends_like_an_undisturbed_one(tiny_run, tmp_path, settings):
    undisturbed = run(tiny_run, tmp_path / "a", **SETTINGS, **settings)
    for step, when in (
        (3, "end"),
        (4, "validation"),
        (7, "start"),
        (10, "end"),
        (12, "validation"),
    ):
        with pytest.raises(KilledError, match="on purpose"):
            callbacks = (KillAt(step, when),)
            run(tiny_run, tmp_path / "b", callbacks=callbacks, **SETTINGS, **settings)
    continued = run(tiny_run, tmp_path / "b", **SETTINGS, **settings)
    assert_same_run(tmp_path / "a", tmp_path / "b", undisturbed, continued)
    a, b = (newest_state(tmp_path / x)["current_model_state"] for x in "ab")
    assert all(torch.equal(value, b[name]) for name, value in a.items())
