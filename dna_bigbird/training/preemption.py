"""Signals during a training: a cluster job that is about to end, Ctrl-C and SIGTERM."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytorch_lightning as pl

from dna_bigbird.core import signals
from dna_bigbird.core.errors import Interrupted
from dna_bigbird.training.checkpoints import Checkpoints
from dna_bigbird.training.objective import is_step_end
from dna_bigbird.training.processes import highest
from dna_bigbird.training.run_folder import list_checkpoints, note, step_of


class Preemption(pl.Callback):
    """Saves at the end of the running step, or of its validation, if a signal came.

    On SIGUSR1 (sbatch --signal=SIGUSR1@120 --requeue) a SLURM job is then queued again, and SLURM ends
    this one; outside, and after the last step, training goes on. Ctrl-C and SIGTERM end it, a second
    Ctrl-C at once. Lightning's own handlers save in the middle of whatever is running, from which no exact
    restart is possible, or end with status 0 or 1, so they are replaced. With several processes a
    signal to one of them is enough. Comes after `Checkpoints` in the list of callbacks.
    """

    def __init__(self, keeper: Checkpoints) -> None:
        self.keeper = keeper

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Listen to SIGUSR1."""
        signals.remember(signals.SAVE)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Listen to the others: up to here they end it at once."""
        signals.remember(*signals.ENDING)

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
        if signal := highest(trainer, signals.received(*signals.ENDING, signals.SAVE)):
            self.keeper.save(trainer)
            self._leave(trainer, signal)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The state has just been saved."""
        if signal := highest(trainer, signals.received(*signals.ENDING, signals.SAVE)):
            self._leave(trainer, signal)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """End the other processes quietly: Lightning would kill this one for their exit status."""
        children = getattr(trainer.strategy.launcher, "procs", [])
        if not isinstance(exception, KeyboardInterrupt) or not children:
            return
        ending, children[:] = children[:], []  # a thread of Lightning watches this list
        for process in ending:
            process.kill()
            process.wait()

    def _leave(self, trainer: pl.Trainer, signal: int) -> None:
        if signal != signals.SAVE:
            raise signals.interrupted(signal)
        signals.forget()
        if not trainer.is_global_zero:
            return
        note(f"signal {signals.SAVE.name}: saved after step {trainer.global_step}")
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


@contextlib.contextmanager
def naming_the_step(trainer: pl.Trainer, keeper: Checkpoints) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end a training with its step, and that from which it continues."""
    # Lightning's own handler of SIGTERM exchanges data with the other processes, in the middle of anything.
    trainer._signal_connector.register_signal_handlers = lambda: None
    with signals.interrupting():
        try:
            yield
            if status := signals.received(*signals.ENDING):  # after the last step
                raise signals.interrupted(status)
        except (KeyboardInterrupt, SystemExit) as stop:
            # Lightning answers a KeyboardInterrupt with sys.exit(1).
            cause = stop.__context__ if isinstance(stop, SystemExit) else stop
            if not isinstance(cause, KeyboardInterrupt):
                raise
            message = _place(trainer, keeper) if trainer.is_global_zero else ""
            raise Interrupted(message, signals.status_of(cause)) from None


def _place(trainer: pl.Trainer, keeper: Checkpoints) -> str:
    step, saved = trainer.global_step, list_checkpoints(keeper.folder, "step")
    kept = step_of(saved[-1]) if saved else None
    interrupted = f"interrupted at step {step:,} of {trainer.max_steps:,}; the same command"
    if kept is None:
        return f"{interrupted} starts again"
    return f"{interrupted} continues" + (f" from step {kept:,}" if kept != step else "")
