"""Averaged weights: those that are validated, kept as the best, and exported."""

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import WeightAveraging
from torch import Tensor

from dna_bigbird.models.train_config import TrainConfig


class AveragedWeights(WeightAveraging):
    """Lightning's moving (`ema_decay`) or equal (`swa_share`) mean of the weights after each step.

    A moving mean of n steps decays by min(ema_decay, (1 + n) / (10 + n)), so that the random weights of the start are
    soon forgotten. Until the first step that counts, a validation reads the weights as they are.
    """

    def __init__(self, config: TrainConfig) -> None:
        def moved(mean: Tensor, weight: Tensor, steps: Tensor) -> Tensor:
            return mean + (weight - mean) * (9 / (10 + steps)).clamp(min=1 - config.ema_decay)

        super().__init__(use_buffers=False, avg_fn=moved if config.ema_decay else None)
        self.first_step = (
            round(config.max_steps * (1 - config.swa_share)) if config.swa_share else 0
        )
        self.is_swapped = False

    def should_update(self, step_idx: int | None = None, epoch_idx: int | None = None) -> bool:
        """Return True after a step that counts."""
        return step_idx is not None and step_idx >= self.first_step

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Follow the model to its device, on which it was not yet when the mean was set up."""
        self._average_model.to(pl_module.device)

    def on_validation_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Give the model the mean, if there is one."""
        if self._average_model.n_averaged > 0:
            self._swap(pl_module)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Keep the mean: `Checkpoints` saves the best weights after this, and calls `swap_back`."""

    def swap_back(self, pl_module: pl.LightningModule) -> None:
        """Give the model its own weights again, after a validation."""
        if self.is_swapped:
            self._swap(pl_module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Do nothing: `fit` loads the best weights."""

    def _swap(self, pl_module: pl.LightningModule) -> None:
        # Lightning 2.6 swaps buffers too, which differ (a Performer's features) and are not averaged.
        with torch.no_grad():
            pairs = zip(
                self._average_model.module.parameters(), pl_module.parameters(), strict=True
            )
            for mean, weight in pairs:
                kept = mean.clone()
                mean.copy_(weight)
                weight.copy_(kept)
        self.is_swapped = not self.is_swapped
