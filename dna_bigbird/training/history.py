"""The history of a training: figures by step in history.tsv, and the progress bar."""

import re
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from tqdm import tqdm

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.progress import is_shown, progress_bar
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.training.objective import Sums, add_sums, is_step_end, ratios


@dataclass
class GrowingTable:
    """Tab-separated rows, the first cell of each a step."""

    # It is rewritten as a whole when a run begins or continues; later rows are added at the end in
    # one write. What a kill leaves half written the next start replaces.

    path: Path
    header: str

    def rows_until(self, step: int) -> list[str]:
        """Return the whole rows of the file up to a step; none if there is no such file."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(errors="replace").split("\n")
        if lines[0] != self.header:
            return []
        columns = self.header.count("\t")
        number = rf"\d{{1,12}}(\t[^\t]*){{{columns}}}"
        whole = [line for line in lines[1:-1] if re.fullmatch(number, line, re.ASCII)]
        return [line for line in whole if int(line.partition("\t")[0]) <= step]

    def begin(self, rows: Iterable[str]) -> None:
        """Write the whole file with these rows."""
        with atomic_path(self.path) as partial:
            partial.write_text("\n".join([self.header, *rows]) + "\n")

    def add(self, rows: Iterable[str]) -> None:
        """Add rows at the end."""
        text = "".join(f"{row}\n" for row in rows)
        with open(self.path, "ab", buffering=0) as stream:
            stream.write(text.encode())


# --- A stop as soon as a loss or a gradient is not a number ---

SHOWN_STEPS = 16


def looks_always(device: torch.device) -> bool:
    """Return True if a check at every step costs almost nothing."""
    return device.type == "cpu"


class StopAtNan(pl.Callback):
    """Ends training with one line that names step, process and examples."""

    # On a CPU every micro-batch and every gradient is looked at. A look costs a GPU its lead, so
    # there it comes once in `look_every` steps. Gradients are looked at before the weights are
    # changed.

    def __init__(self, look_every: int) -> None:
        self.look_every = look_every
        self.examples: list[Tensor] = []
        self.is_bad: Tensor | None = None

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx) -> None:
        """Remember the examples of the step: all micro-batches of its accumulation."""
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self.examples = []
        self.examples.append(pl_module.examples_of(batch))

    def on_before_backward(self, trainer, pl_module, loss) -> None:
        """Look at the loss of a micro-batch."""
        bad = ~torch.isfinite(loss.detach())
        self.is_bad = bad if self.is_bad is None else self.is_bad | bad
        if self._looks(trainer, pl_module) and bool(self.is_bad):
            here = self.examples[-1:] if bool(bad) else []
            raise self._error(trainer, "the loss", here)

    def on_before_optimizer_step(self, trainer, pl_module, optimizer) -> None:
        """Look at the gradients, which may overflow where the loss does not."""
        if not self._looks(trainer, pl_module):
            return
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        local = [g.to_local() if isinstance(g, DTensor) else g for g in gradients if g is not None]
        # One pass over memory: no sum is finite over something that is not.
        sums = torch.stack([g.sum() for g in local])
        if not bool(torch.isfinite(sums).all()):
            raise self._error(trainer, "a gradient", self.examples)

    def _looks(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> bool:
        ends_window = (trainer.global_step + 1) % self.look_every == 0
        return ends_window or looks_always(pl_module.device)

    def _error(self, trainer: pl.Trainer, what: str, examples: list[Tensor]) -> InputError:
        step = trainer.global_step + 1
        since = f" (or up to {self.look_every} steps before)"
        if looks_always(trainer.lightning_module.device):
            since = ""
        numbers = torch.cat(examples or self.examples).tolist()
        shown = ", ".join(map(str, numbers[:SHOWN_STEPS])) + (
            ", …" if len(numbers) > SHOWN_STEPS else ""
        )
        return InputError(
            f"training diverged: {what} is not a number at step {step}{since}, on process "
            f"{trainer.global_rank}, in the batch of examples {shown}. Try a smaller "
            "--training.learning_rate, more --training.warmup_steps or --training.gradient_clip 1"
        )


WINDOWS = "history_windows"
"""Where a checkpoint holds the sums since the last row of training figures, process by process."""
HEADER = "step\tsplit\tname\tvalue"
SHOWN = ("loss", "bits_per_base_masked")
"""Training figures next to the progress bar."""
TIMED_STEPS = 3
"""After the first, which is slower; from them the time of a training is estimated."""
SHORT_S = 10
"""A shorter training has no estimate."""


class History(pl.Callback):
    """Rows of (step, split, name, value), kept in the checkpoints and in a file; progress."""

    # Training figures are sums over `log_every` steps, divided once. On a terminal and in a
    # notebook there is a progress bar; elsewhere one line soon after the start with the time
    # that is left, and one per validation.

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

    def on_save_checkpoint(self, trainer, pl_module, checkpoint) -> None:
        """Keep the sums of every process apart, so that a restart adds up in the same order."""
        windows: list = [{name: value.cpu() for name, value in self.window.items()}]
        if trainer.world_size > 1:
            mine, windows = windows[0], [None] * trainer.world_size
            torch.distributed.all_gather_object(windows, mine)
        checkpoint[WINDOWS] = windows

    def on_load_checkpoint(self, trainer, pl_module, checkpoint) -> None:
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
        self.step_ends_s: list[float] = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
        """Add up the step's figures."""
        add_sums(self.window, outputs["sums"])
        ends_step = is_step_end(trainer, batch_idx)
        ends_window = ends_step and trainer.global_step % self.log_every == 0
        if ends_step and self.bar is not None:
            self.bar.update()
            self._tell_time(trainer)
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
        figures = pl_module.validation_metrics.items()
        text = ", ".join(f"{name} {value:.4g}" for name, value in figures)
        self._tell(trainer, f"validation {text}")

    def _tell_time(self, trainer: pl.Trainer) -> None:
        if len(self.step_ends_s) > TIMED_STEPS:
            return
        self.step_ends_s.append(time.monotonic())
        if len(self.step_ends_s) > TIMED_STEPS:
            step_s = (self.step_ends_s[-1] - self.step_ends_s[0]) / TIMED_STEPS
            left_s = step_s * (trainer.max_steps - trainer.global_step)
            if left_s >= SHORT_S:
                left = tqdm.format_interval(left_s)
                self._tell(trainer, f"about {left} for the rest, without validation")

    def _tell(self, trainer: pl.Trainer, text: str) -> None:
        """Print a line about the step where no bar shows it."""
        if trainer.is_global_zero and is_shown() and self.bar is not None and self.bar.disable:
            print(f"step {trainer.global_step}/{trainer.max_steps}: {text}", file=sys.stderr)

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
