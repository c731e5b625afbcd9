"""The norm of the whole gradient is bounded, in every arithmetic."""

import pytest
import pytorch_lightning as pl
import torch

from dna_bigbird.training.fit import fit


class Norms(pl.Callback):
    """Norms of the whole gradient that the optimizer used."""

    def __init__(self) -> None:
        self.found: list[float] = []

    def on_train_start(self, trainer, pl_module):
        trainer.optimizers[0].register_step_post_hook(self.note)

    def note(self, optimizer, *arguments):
        gradients = [p.grad.flatten() for g in optimizer.param_groups for p in g["params"]]
        self.found.append(torch.cat(gradients).norm().item())


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_the_whole_gradient_is_clipped(tiny_run, tmp_path, precision):
    norms = {}
    for clip in (0.0, 0.01):
        task, data, config = tiny_run(precision=precision, gradient_clip=clip)
        watch = Norms()
        folder = tmp_path / str(clip)
        fit(task, data, config, checkpoints=folder, seed=3, settings={}, callbacks=(watch,))
        norms[clip] = watch.found
    assert min(norms[0.0]) > 0.1
    assert norms[0.01] == pytest.approx([0.01] * config.max_steps, rel=1e-3)
