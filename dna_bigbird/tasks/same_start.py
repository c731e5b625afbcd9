"""Whether all processes of a run begin at the same step."""

import pytorch_lightning as pl
import torch

from dna_bigbird.errors import InputError


class SameStart(pl.Callback):
    """Refuses to train if processes found different newest checkpoints.

    Each process looks into the folder for itself, and a node may see a shared disk as it was up to
    a minute ago (NFS). They would train on different weights.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Compare the steps.

        Raises:
            InputError: If they differ.
        """
        if trainer.world_size == 1:
            return
        steps: list = [None] * trainer.world_size
        torch.distributed.all_gather_object(steps, trainer.global_step)
        if len(set(steps)) > 1:
            raise InputError(
                "the processes found checkpoints of different steps "
                f"({', '.join(map(str, steps))}): some node does not see the newest one. Is the "
                "folder on a disk that all nodes share? If so start the same command again"
            )
