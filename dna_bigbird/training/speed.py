"""How fast a run is: tokens and base pairs a second, waiting for data, share of the peak."""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import pytorch_lightning as pl
import torch
from pytorch_lightning.profilers import Profiler

from dna_bigbird.models.flops import training_flops
from dna_bigbird.training.history import GrowingTable
from dna_bigbird.training.objective import is_step_end

FIGURES = ("seconds", "tokens_per_s", "bp_per_s", "waiting_share", "peak_share", "peak_gflops")
HEADER = "\t".join(("step", *FIGURES))
PEAK_SIZES = {"cpu": (512, 1024), "cuda": (4096, 8192)}
"""Rows of the products that are tried: a short one is sooner done undisturbed by other programs."""
PEAK_S = 0.3

Clock = Callable[[], float]


class DataClock(Profiler):
    """Adds up the seconds for which training waits: Lightning tells its profiler of each batch."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        super().__init__()
        self.clock = clock
        self.waited_s = 0.0
        self._asked_at = 0.0

    def start(self, action_name: str) -> None:
        """Note when a training batch is asked for."""
        if action_name.endswith("train_dataloader_next"):
            self._asked_at = self.clock()

    def stop(self, action_name: str) -> None:
        """Add the time until it came."""
        if action_name.endswith("train_dataloader_next"):
            self.waited_s += self.clock() - self._asked_at


@dataclass(eq=False)
class Speed(pl.Callback):
    """Writes a row of figures (docs/explanation/training-recipe.md) in each window of steps; the last callback."""

    table: GrowingTable
    waits: DataClock
    _: KW_ONLY
    log_every: int
    show: Callable[[dict[str, float]], None]
    clock: Clock = time.perf_counter
    first_batch_s: float = field(default=0.0, init=False)
    """From the first request for data to the first batch: the workers' start."""
    _began_at: float | None = field(default=None, init=False)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the peak; continue the table."""
        self.peak = measured_peak(pl_module.device, trainer.precision == "bf16-mixed")
        if trainer.is_global_zero:
            self.table.begin(self.table.rows_until(trainer.global_step))

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx) -> None:
        """Start the first window."""
        if self._began_at is None:
            self.first_batch_s = self.waits.waited_s
            self._begin_window()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
        """Count the batch; write a row where a window ends."""
        self._lengths.append((~batch.is_padding_BT).sum(dim=1))
        base_pairs = pl_module.base_pairs(batch)
        if base_pairs is not None:
            self._base_pairs.append(base_pairs)
        self._predicted += len(batch.labels_P) if hasattr(batch, "labels_P") else 0
        if is_step_end(trainer, batch_idx) and trainer.global_step % self.log_every == 0:
            figures = self._figures(trainer, pl_module)
            self._begin_window()
            if trainer.is_global_zero:
                self._write(trainer, figures)

        self._step_ended_at = self.clock()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Leave out all that was done since the step before."""
        if self._began_at is not None:
            self._began_at += self.clock() - self._step_ended_at

    def _begin_window(self) -> None:
        self._began_at = self.clock()
        self.waits.waited_s = 0.0
        self._lengths, self._base_pairs, self._predicted = [], [], 0

    def _figures(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> dict[str, float]:
        lengths = torch.cat(self._lengths).tolist()  # waits for a GPU
        base_pairs = float(sum(self._base_pairs)) if self._base_pairs else float("nan")
        flops = float("nan")
        if hasattr(pl_module.model, "encoder"):
            flops = float(training_flops(pl_module.model, lengths, self._predicted))
        seconds = max(self.clock() - self._began_at, 1e-9)
        sums = torch.tensor(
            [sum(lengths), base_pairs, flops, self.waits.waited_s, self.peak],
            dtype=torch.float64,
            device=pl_module.device,
        )
        sums = trainer.strategy.reduce(sums, reduce_op="sum").tolist()
        tokens, base_pairs, flops, waited_s, peak = sums
        values = (
            seconds,
            tokens / seconds,
            base_pairs / seconds,
            waited_s / (seconds * trainer.world_size),
            flops / (seconds * peak),
            peak / 1e9,
        )
        return dict(zip(FIGURES, values, strict=True))

    def _write(self, trainer: pl.Trainer, figures: dict[str, float]) -> None:
        cells = "\t".join(f"{value:.6g}" for value in figures.values())
        self.table.add([f"{trainer.global_step}\t{cells}"])
        for logger in trainer.loggers:
            named = {f"speed/{name}": value for name, value in figures.items()}
            logger.log_metrics(named, step=trainer.global_step)
        self.show({"tokens/s": figures["tokens_per_s"], "of peak": figures["peak_share"]})


def measured_peak(
    device: torch.device, in_bfloat16: bool, clock: Clock = time.perf_counter
) -> float:
    """Return the operations a second of the best of some large matrix products, in about 0.3 s."""
    # In the run's own type, on its device and threads. No random number is drawn.
    dtype = torch.bfloat16 if in_bfloat16 else torch.float32
    sizes = PEAK_SIZES.get(device.type, PEAK_SIZES["cuda"])
    factors = [
        torch.linspace(-1, 1, size * size, device=device).to(dtype).view(size, size)
        for size in sizes
    ]
    best, until = 0.0, clock() + PEAK_S
    while clock() < until:
        for factor in factors:
            started_at = clock()
            torch.mm(factor, factor)[0, 0].item()  # waits for a GPU
            best = max(best, 2 * len(factor) ** 3 / (clock() - started_at))
    return best
