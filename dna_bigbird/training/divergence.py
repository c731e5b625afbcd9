"""A stop as soon as a loss or a gradient is not a number."""

from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from dna_bigbird.core.errors import InputError

SHOWN = 16


def looks_always(device: torch.device) -> bool:
    """Return True if a check at every step costs almost nothing."""
    return device.type == "cpu"


class StopAtNan(pl.Callback):
    """Ends training with one line that names step, process and examples.

    On a CPU every micro-batch and every gradient is looked at. A look costs a GPU its lead, so
    there it comes once in `look_every` steps; the message then says so. Gradients are looked at
    before the weights are changed.
    """

    def __init__(self, look_every: int) -> None:
        self.look_every = look_every
        self.examples: list[Tensor] = []
        self.is_bad: Tensor | None = None

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Remember the examples of the step: all micro-batches of its accumulation."""
        if batch_idx % trainer.accumulate_grad_batches == 0:
            self.examples = []
        self.examples.append(pl_module.examples_of(batch))

    def on_before_backward(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, loss: Tensor
    ) -> None:
        """Look at the loss of a micro-batch."""
        bad = ~torch.isfinite(loss.detach())
        self.is_bad = bad if self.is_bad is None else self.is_bad | bad
        if self._looks(trainer, pl_module) and bool(self.is_bad):
            here = self.examples[-1:] if bool(bad) else []
            raise self._error(trainer, "the loss", here)

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
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
        shown = ", ".join(map(str, numbers[:SHOWN])) + (", …" if len(numbers) > SHOWN else "")
        return InputError(
            f"training diverged: {what} is not a number at step {step}{since}, on process "
            f"{trainer.global_rank}, in the batch of examples {shown}. Try a smaller "
            "--training.learning_rate, more --training.warmup_steps or --training.gradient_clip 1"
        )
