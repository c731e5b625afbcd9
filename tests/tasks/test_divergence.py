"""What is not a number ends training with the batch named."""

import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.training.fit import fit
from dna_bigbird.training.run_folder import list_checkpoints


def poison(task, at_batch, kind):
    """Make the loss NaN, or only its gradients, in one micro-batch."""
    original = task.loss_and_sums

    def loss_and_sums(batch):
        loss, sums = original(batch)
        if task.training and batch.examples_B[0] == 4 * at_batch:
            weight = task.model.vocabulary.weight
            if kind == "loss":
                loss = loss + float("nan")
            else:  # the square root of 0 is 0, its slope is not finite
                loss = loss + (weight - weight.detach()).sum().abs().sqrt()
        return loss, sums

    task.loss_and_sums = loss_and_sums


@pytest.mark.parametrize(
    ("kind", "clip", "message"),
    [
        ("loss", 0.0, r"the loss is not a number at step 4, on process 0, .* 28, 29, 30, 31\."),
        (
            "gradient",
            1.0,
            r"a gradient is not a number at step 4, on process 0, .* 24, 25, .*, 30, 31\.",
        ),
        ("gradient", 0.0, r"a gradient is not a number at step 4, "),
    ],
)
def test_under_accumulation(tiny_run, tmp_path, kind, clip, message):
    """Micro-batch 7 is the second half of step 4; a gradient belongs to both halves."""
    task, data, config = tiny_run(accumulate=2, checkpoint_every_steps=1, gradient_clip=clip)
    poison(task, 7, kind)
    with pytest.raises(InputError, match=f"training diverged: {message}"):
        fit(task, data, config, checkpoints=tmp_path, seed=0, settings={})
    newest = torch.load(list_checkpoints(tmp_path, "step")[-1], weights_only=True)
    assert newest["global_step"] == 3
    assert all(torch.isfinite(value).all() for value in newest["state_dict"].values())


def test_at_most_sixteen_examples_are_listed(tiny_run, tmp_path):
    task, data, config = tiny_run(accumulate=5)
    poison(task, 3, "gradient")
    with pytest.raises(InputError, match=r"examples 0, 1, .*, 14, 15, …\. Try"):
        fit(task, data, config, checkpoints=tmp_path, seed=0, settings={})


def test_a_gpu_is_looked_at_once_a_window(tiny_run, tmp_path, monkeypatch):
    """The message does not claim to know the step."""
    monkeypatch.setattr("dna_bigbird.training.history.looks_always", lambda device: False)
    task, data, config = tiny_run(log_every=3)
    poison(task, 3, "loss")
    with pytest.raises(InputError, match=r"at step 6 \(or up to 3 steps before\), on"):
        fit(task, data, config, checkpoints=tmp_path, seed=0, settings={})
