"""Processes that would continue from different checkpoints are stopped before the first step."""

from types import SimpleNamespace

import pytest
import torch

from dna_bigbird.errors import InputError
from dna_bigbird.tasks.same_start import SameStart


def start(monkeypatch, *steps):
    def gather(found, mine):
        assert mine == steps[0]
        found[:] = steps

    monkeypatch.setattr(torch.distributed, "all_gather_object", gather)
    trainer = SimpleNamespace(world_size=len(steps), global_step=steps[0])
    SameStart().on_train_start(trainer, pl_module=None)


def test_equal_steps_go_on(monkeypatch):
    start(monkeypatch, 200, 200, 200)


def test_one_process_asks_nobody():
    trainer = SimpleNamespace(world_size=1, global_step=7)
    SameStart().on_train_start(trainer, pl_module=None)


def test_different_steps_are_refused(monkeypatch):
    with pytest.raises(InputError, match=r"different steps \(200, 100, 200\).*disk that all nodes"):
        start(monkeypatch, 200, 100, 200)
