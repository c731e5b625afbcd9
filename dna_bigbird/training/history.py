"""The history of a training: figures by step in history.tsv, and the progress bar."""

import sys
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from tqdm import tqdm

from dna_bigbird.core.progress import is_shown, progress_bar
from dna_bigbird.training.growing_table import GrowingTable
from dna_bigbird.training.micro_batches import is_step_end
from dna_bigbird.training.objective import Sums, add_sums, ratios

WINDOWS = "history_windows"
"""Where a checkpoint holds the sums since the last row of training figures, process by process."""
HEADER = "step\tsplit\tname\tvalue"
SHOWN = ("loss", "bits_per_base_masked")
"""Training figures next to the progress bar."""


class History(pl.Callback):
    """Rows of (step, split, name, value), kept in the checkpoints and in a file; progress.

    Training figures are sums over `log_every` steps, divided once. On a terminal and in a notebook
    there is a progress bar; elsewhere one line per validation.

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
        self.bar = progress_bar(
            desc="training",
            unit=" steps",
            total=trainer.max_steps,
            initial=trainer.global_step,
            disable=not trainer.is_global_zero,
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
        if trainer.is_global_zero and is_shown() and self.bar is not None and self.bar.disable:
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
