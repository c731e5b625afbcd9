"""When a training writes checkpoints, which is the best, and when patience ends."""

import contextlib
import math
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO

from dna_bigbird.core import signals
from dna_bigbird.core.errors import InputError, Interrupted
from dna_bigbird.training.averaging import AveragedWeights
from dna_bigbird.training.checkpoint_files import (
    RUN,
    DamagedError,
    explained,
    read_checkpoint,
    save_checkpoint,
)
from dna_bigbird.training.objective import Objective, is_step_end
from dna_bigbird.training.processes import highest
from dna_bigbird.training.run_folder import (
    best_path,
    list_checkpoints,
    note,
    prune,
    run_sha256,
    step_of,
    step_path,
)


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint under a temporary name and renames it; reads without running code."""

    # Lightning's own writer goes through the system's temporary folder, which may be another disk,
    # so that a killed run can leave half a file under the final name.

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        """Write the whole checkpoint or none."""
        save_checkpoint({**checkpoint, RUN: run_sha256(Path(path).parent)}, Path(path))

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read tensors and plain values only, whatever is asked; `open_run` has verified the file."""
        try:
            return torch.load(path, map_location=map_location, weights_only=True)
        except Exception as error:
            raise explained(Path(path), error) from error


@dataclass(eq=False)
class Checkpoints(pl.Callback):
    """Saves the training state, remembers the best validation, stops when patience ends."""

    # Comes after `History` in the list of callbacks, so that its rows are in the state. Only the
    # first process asks `clock`.

    folder: Path
    _: KW_ONLY
    every_steps: int
    every_minutes: float
    validate_every: int
    patience: int
    averaging: AveragedWeights | None = None
    clock: Callable[[], float] = time.monotonic
    has_begun: bool = field(default=False, init=False)
    best_step: int | None = field(default=None, init=False)
    best_metrics: dict[str, float] = field(default_factory=dict, init=False)
    validations_since_best: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.saved_at = self.clock()

    def state_dict(self) -> dict[str, Any]:
        """Return what a restart needs."""
        return {
            "best_step": self.best_step,
            "best_metrics": self.best_metrics,
            "validations_since_best": self.validations_since_best,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        for name, value in state_dict.items():
            setattr(self, name, value)

    def on_load_checkpoint(self, trainer, pl_module, checkpoint) -> None:
        """Count micro-batches as this split of a step does: Lightning kept those of another one."""
        # Private to Lightning (2.6.6, loops/progress.py): `total` and `current` count micro-batches as ready, started,
        # processed and completed. Where a step ends is computed from `current["ready"]`, so after a restart with
        # another number of micro-batches per step a count that is not a multiple of it would end steps early.
        # The step itself (`global_step`) is counted by optimizer steps and stays.
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
        done = checkpoint["global_step"] * trainer.accumulate_grad_batches
        more = done - progress["total"]["ready"]
        for counts in (progress["total"], progress["current"]):
            for name in counts:
                counts[name] += more

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Say where training continues; a run that had lost its patience does not go on."""
        self.saved_at = self.clock()
        self.has_begun = True
        if trainer.global_step and trainer.is_global_zero:
            note(f"{self.folder}: continuing after step {trainer.global_step}")
        self._stop_if_out_of_patience(trainer)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
        """Save between validations, if asked to."""
        step = trainer.global_step
        if not is_step_end(trainer, batch_idx) or step % self.validate_every == 0:
            return  # a validation saves anyway, once it is over
        by_steps = self.every_steps and step % self.every_steps == 0
        if by_steps or self._minutes_are_over(trainer):
            self.save(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: Objective) -> None:
        """Keep the weights if they are the best so far, and save."""
        metrics = pl_module.validation_metrics
        value = metrics[pl_module.monitor]
        sign = -1 if pl_module.mode == "min" else 1
        best = self.best_metrics.get(pl_module.monitor, math.nan)
        if self.best_step is None or (math.isfinite(value) and not sign * value <= sign * best):
            self.best_step, self.best_metrics = trainer.global_step, dict(metrics)
            self.validations_since_best = 0
            trainer.save_checkpoint(best_path(self.folder, self.best_step), weights_only=True)
        else:
            self.validations_since_best += 1
        if self.averaging is not None:
            self.averaging.swap_back(pl_module)
        self.save(trainer)
        self._stop_if_out_of_patience(trainer)

    def save(self, trainer: pl.Trainer) -> None:
        """Write the training state; never between a step and its validation."""
        trainer.save_checkpoint(step_path(self.folder, trainer.global_step))
        if trainer.is_global_zero:
            prune(self.folder)
        self.saved_at = self.clock()

    def _minutes_are_over(self, trainer: pl.Trainer) -> bool:
        if not self.every_minutes:
            return False
        over = trainer.is_global_zero and self.clock() - self.saved_at >= 60 * self.every_minutes
        return bool(highest(trainer, over))

    def _stop_if_out_of_patience(self, trainer: pl.Trainer) -> None:
        if self.patience and self.validations_since_best >= self.patience:
            trainer.should_stop = True


# --- Taking over what a checkpoint has: a training state at the start, the best weights at the end ---


@contextlib.contextmanager
def whole_restore(resume_from: Path | None, keeper: Checkpoints) -> Iterator[None]:
    """Turn what Lightning raises while it takes a training state over into one line."""
    # Only a state of an earlier version gets there with a part missing; others have a checksum.
    try:
        yield
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if resume_from is None or keeper.has_begun:
            raise
        raise InputError(
            f"{resume_from}: cannot continue from it: {_shortened(error)}. Move it to another "
            "folder, and the same command goes on from the state before"
        ) from error


def load_best(task: Objective, path: Path) -> None:
    """Give a task the best weights of its run, verified; InputError if they cannot be read."""
    try:
        weights = read_checkpoint(path)["state_dict"]
        try:
            task.cpu().load_state_dict(task.with_frozen(weights))
        except RuntimeError as error:
            raise DamagedError(f"{path}: damaged: {_shortened(error)}") from error
    except DamagedError as error:
        raise InputError(
            f"{error}. These are the best weights of the run, so no model was written. Start the "
            "same command again: it goes on from the newest state whose best weights are whole, or "
            "else from the beginning"
        ) from error


def _shortened(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


# Signals during a training: a cluster job that is about to end, Ctrl-C and SIGTERM.


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

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
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

    def on_exception(self, trainer, pl_module, exception) -> None:
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
