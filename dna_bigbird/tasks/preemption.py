"""A cluster job that is about to end: save, and ask to be queued again."""

import os
import signal
import subprocess
from typing import Any

import pytorch_lightning as pl

from dna_bigbird.tasks import signals
from dna_bigbird.tasks.checkpoints import Checkpoints
from dna_bigbird.tasks.processes import any_process
from dna_bigbird.tasks.run_folder import note
from dna_bigbird.tasks.steps import is_step_end


class Preemption(pl.Callback):
    """On SIGUSR1 (sbatch --signal=SIGUSR1@120 --requeue) saves at the end of the running step.

    Inside a SLURM job the job is then queued again, and SLURM ends this one; outside, and after the
    last step, training goes on. Lightning's own handler saves in the middle of whatever is running,
    from which no exact restart is possible, so it is switched off. With several processes a signal
    to one of them is enough. Comes after `Checkpoints` in the list of callbacks.
    """

    def __init__(self, keeper: Checkpoints) -> None:
        self.keeper = keeper
        self._previous: Any = None

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Listen to the signal."""
        self._previous = signals.listen()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Leave the signal as it was."""
        if self._previous is not None:
            signal.signal(signals.SIGNAL, self._previous)
            self._previous = None

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Save, unless a validation follows, which saves by itself."""
        step = trainer.global_step
        if not is_step_end(trainer, batch_idx) or step % self.keeper.validate_every == 0:
            return
        if any_process(trainer, signals.is_received()):
            self.keeper.save(trainer)
            self._leave(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The state has just been saved."""
        if any_process(trainer, signals.is_received()):
            self._leave(trainer)

    def _leave(self, trainer: pl.Trainer) -> None:
        signals.forget()
        if not trainer.is_global_zero:
            return
        note(f"signal {signals.SIGNAL.name}: saved after step {trainer.global_step}")
        job = os.environ.get("SLURM_JOB_ID")
        is_over = trainer.should_stop or trainer.global_step >= trainer.max_steps
        if job is None or is_over:  # finishing takes less time than starting again
            return
        array, task = (os.environ.get(f"SLURM_ARRAY_{x}_ID") for x in ("JOB", "TASK"))
        job = f"{array}_{task}" if array and task else job
        try:
            done = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True)
            reason = done.stderr.strip() if done.returncode else ""
        except OSError as error:
            reason = str(error)
        note(f"job {job} could not be queued again: {reason}" if reason else f"job {job} requeued")
