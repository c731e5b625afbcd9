"""Steps and micro-batches: where a step ends, and the random numbers of a micro-batch."""

from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch


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
