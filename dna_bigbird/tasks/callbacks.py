"""What happens around training steps: random numbers, history, checkpoints."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO
from tqdm import tqdm

from dna_bigbird.tasks.checkpoint_files import explained, save_checkpoint
from dna_bigbird.tasks.growing_table import GrowingTable
from dna_bigbird.tasks.objective import Objective, Sums, add_sums, ratios
from dna_bigbird.tasks.run_folder import best_path, note, prune, step_path

WINDOWS = "history_windows"
"""Where a checkpoint holds the sums since the last row of training figures, process by process."""
HEADER = "step\tsplit\tname\tvalue"
SHOWN = ("loss", "bits_per_base_masked")
"""Training figures next to the progress bar."""


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint under a temporary name and renames it; reads without running code.

    Lightning's own writer goes through the system's temporary folder, which may be another disk,
    so that a killed run can leave half a file under the final name.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        """Write the whole checkpoint or none."""
        save_checkpoint(checkpoint, Path(path))

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read tensors and plain values only, whatever is asked; `open_run` has verified the file."""
        try:
            return torch.load(path, map_location=map_location, weights_only=True)
        except Exception as error:
            raise explained(Path(path), error) from error


def is_step_end(trainer: pl.Trainer, batch_idx: int) -> bool:
    """Return True if this micro-batch ended an optimizer step (and not only an accumulation)."""
    return (batch_idx + 1) % trainer.accumulate_grad_batches == 0


class SeededBatches(pl.Callback):
    """Makes dropout a function of (seed, micro-batch number).

    torch draws dropout from its global generator, so that generator is set before every
    micro-batch. Nothing then depends on what was drawn before: not on a restart, not on how often
    was validated, not on the number of processes.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Set the generator."""
        number = batch_idx * trainer.world_size + trainer.global_rank
        state = np.random.SeedSequence([self.seed, number]).generate_state(1, np.uint64)[0]
        torch.manual_seed(int(state >> np.uint64(1)))


class History(pl.Callback):
    """Rows of (step, split, name, value), kept in the checkpoints and in a file; progress.

    Training figures are sums over `log_every` steps, divided once. On a terminal there is a
    progress bar; elsewhere one line per validation.

    Args:
        path: The file, kept up to date while the run goes on.
    """

    def __init__(self, path: Path, log_every: int) -> None:
        self.file = GrowingTable(path, HEADER)
        self.log_every = log_every
        self.rows: list[list] = []
        self.window: Sums = {}
        self.bar: tqdm | None = None
        self.shown: dict[str, float] = {}

    def state_dict(self) -> dict[str, Any]:
        """Return what a restart needs."""
        return {"rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue the history of a checkpoint."""
        self.rows = state_dict["rows"]

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Keep the sums of every process apart, so that a restart adds up in the same order."""
        windows: list = [{name: value.cpu() for name, value in self.window.items()}]
        if trainer.world_size > 1:
            mine, windows = windows[0], [None] * trainer.world_size
            torch.distributed.all_gather_object(windows, mine)
        checkpoint[WINDOWS] = windows

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Take this process's sums; with another number of processes the first takes them all."""
        windows = checkpoint[WINDOWS]
        if len(windows) == trainer.world_size:
            self.window = windows[trainer.global_rank]
        elif trainer.is_global_zero:
            self.window = {}
            for window in windows:
                add_sums(self.window, window)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Open the progress bar; begin or continue the file."""
        if trainer.is_global_zero:
            self.file.begin(map(as_line, self.rows))
        self.window = {k: v.to(pl_module.device) for k, v in self.window.items()}
        self.bar = tqdm(
            desc="training",
            unit=" steps",
            total=trainer.max_steps,
            initial=trainer.global_step,
            disable=None if trainer.is_global_zero else True,
        )

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Add up the step's figures."""
        add_sums(self.window, outputs["sums"])
        ends_step = is_step_end(trainer, batch_idx)
        ends_window = ends_step and trainer.global_step % self.log_every == 0
        if ends_step and self.bar is not None:
            self.bar.update()
        if ends_window:
            sums = {
                name: trainer.strategy.reduce(value, reduce_op="sum")
                for name, value in self.window.items()
            }
            self.window = {}
            rate = trainer.optimizers[0].param_groups[0]["lr"]
            self._record(trainer, "train", ratios(sums) | {"next_learning_rate": rate})

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write down the validation."""
        self._record(trainer, "validation", pl_module.validation_metrics)
        if trainer.is_global_zero and self.bar is not None and self.bar.disable:
            figures = pl_module.validation_metrics.items()
            text = ", ".join(f"{name} {value:.4g}" for name, value in figures)
            print(
                f"step {trainer.global_step}/{trainer.max_steps}: validation {text}",
                file=sys.stderr,
            )

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Close the progress bar."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def table(self) -> str:
        """Return history.tsv."""
        return "\n".join([HEADER, *map(as_line, self.rows)]) + "\n"

    def show(self, figures: dict[str, float]) -> None:
        """Put figures next to the progress bar."""
        self.shown |= figures
        if self.bar is not None:
            self.bar.set_postfix({name: f"{value:.4g}" for name, value in self.shown.items()})

    def _record(self, trainer: pl.Trainer, split: str, figures: dict[str, float]) -> None:
        rows = [[trainer.global_step, split, name, value] for name, value in figures.items()]
        self.rows += rows
        if trainer.is_global_zero:
            self.file.add(map(as_line, rows))
        if split == "train":
            self.show({name: figures[name] for name in SHOWN if name in figures})
        for logger in trainer.loggers:
            named = {f"{split}/{name}": value for name, value in figures.items()}
            logger.log_metrics(named, step=trainer.global_step)


def as_line(row: list) -> str:
    """Return a row of `History` as written to history.tsv."""
    step, split, name, value = row
    return f"{step}\t{split}\t{name}\t{value:.6g}"


class Checkpoints(pl.Callback):
    """Saves the training state, remembers the best validation, stops when patience ends.

    Comes after `History` in the list of callbacks, so that its rows are in the state.

    Args:
        every_steps, every_minutes: When a checkpoint is due between validations; 0 for never.
        clock: Seconds; only the first process asks it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        every_steps: int,
        every_minutes: float,
        validate_every: int,
        patience: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.every_steps = every_steps
        self.every_minutes = every_minutes
        self.validate_every = validate_every
        self.patience = patience
        self.clock = clock
        self.saved_at = clock()
        self.has_begun = False
        self.best_step: int | None = None
        self.best_metrics: dict[str, float] = {}
        self.validations_since_best = 0

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

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Count micro-batches as this split of a step does: Lightning kept those of another one."""
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

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
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
        if trainer.world_size == 1:
            return over
        return trainer.strategy.reduce_boolean_decision(over, all=False)

    def _stop_if_out_of_patience(self, trainer: pl.Trainer) -> None:
        if self.patience and self.validations_since_best >= self.patience:
            trainer.should_stop = True
