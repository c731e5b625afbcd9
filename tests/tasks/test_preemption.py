"""SIGUSR1 outside of the steps: while a command prepares its run, and when nothing is left to do."""

import os
import signal

import pytest
import pytorch_lightning as pl

from dna_bigbird.core import signals
from dna_bigbird.training.fit import fit

JOB = "77"


@pytest.fixture
def requeued(tmp_path, monkeypatch):
    """Function () -> what scontrol was called with, in a job of SLURM that is only pretended."""
    program, calls = tmp_path / "bin" / "scontrol", tmp_path / "calls"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("SLURM_JOB_ID", JOB)
    return lambda: calls.read_text() if calls.exists() else ""


@pytest.fixture
def listening():
    previous = signal.signal(signals.SAVE, signal.SIG_DFL)
    signals.remember(signals.SAVE)
    yield
    signals.forget()
    signal.signal(signals.SAVE, previous)


class SignalAt(pl.Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_before_backward(self, trainer, pl_module, loss):
        if trainer.global_step == self.step:
            os.kill(os.getpid(), signals.SAVE)


def test_a_signal_before_training_is_answered_after_the_first_step(
    tiny_run, tmp_path, listening, requeued, capsys
):
    task, data, config = tiny_run()
    os.kill(os.getpid(), signals.SAVE)
    fit(task, data, config, checkpoints=tmp_path / "run", seed=0, settings={})
    assert "signal SIGUSR1: saved after step 1\n" in capsys.readouterr().err
    assert requeued() == f"requeue {JOB}\n"


def test_after_the_last_step_there_is_nothing_to_queue_again(tiny_run, tmp_path, requeued, capsys):
    task, data, config = tiny_run()
    last = SignalAt(config.max_steps - 1)
    fit(task, data, config, checkpoints=tmp_path / "run", seed=0, settings={}, callbacks=(last,))
    assert f"signal SIGUSR1: saved after step {config.max_steps}\n" in capsys.readouterr().err
    assert requeued() == ""


def test_training_leaves_the_signal_as_it_was(tiny_run, tmp_path):
    before = signal.getsignal(signals.SAVE)
    task, data, config = tiny_run()
    fit(task, data, config, checkpoints=tmp_path / "run", seed=0, settings={})
    assert signal.getsignal(signals.SAVE) == before
