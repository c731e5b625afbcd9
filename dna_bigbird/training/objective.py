"""What every training task shares: the optimizer, and figures that are ratios of sums.

A figure is kept as (numerator, denominator) and divided once at the end, so that it does not
depend on how examples fall into batches or onto processes.
"""

from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.utils.weak import WeakTensorKeyDictionary

from dna_bigbird.models.encoder import Packing
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer
from dna_bigbird.training.sharding import Sharded, shard


def is_step_end(trainer: pl.Trainer, batch_idx: int) -> bool:
    """Return True if this micro-batch ended an optimizer step (and not only an accumulation)."""
    return (batch_idx + 1) % trainer.accumulate_grad_batches == 0


class SeededBatches(pl.Callback):
    """Makes dropout a function of (seed, micro-batch number)."""

    # torch draws dropout from its global generator, so that generator is set before every
    # micro-batch. Nothing then depends on a restart, on how often was validated, or on the number
    # of processes.

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx) -> None:
        """Set the generator."""
        number = batch_idx * trainer.world_size + trainer.global_rank
        state = np.random.SeedSequence([self.seed, number]).generate_state(1, np.uint64)[0]
        torch.manual_seed(int(state >> np.uint64(1)))


Sums = dict[str, Tensor]
"""Figure name to a float64 tensor (numerator, denominator)."""


def pair(numerator: Tensor, denominator: Tensor | float) -> Tensor:
    """Return a figure's (numerator, denominator), detached, in float64."""
    numerator = numerator.detach().double()
    if not isinstance(denominator, Tensor):  # without a copy, for which a GPU would be waited for
        denominator = torch.full_like(numerator, denominator)
    return torch.stack([numerator, denominator.detach().to(numerator)])


def add_sums(total: Sums, more: Sums) -> None:
    """Add `more` to `total` in place."""
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


def ratios(sums: Sums) -> dict[str, float]:
    """Divide every figure; 0/0 is NaN."""
    return {
        name: (value[0] / value[1]).item() if value[1] != 0 else float("nan")
        for name, value in ((name, value.cpu()) for name, value in sums.items())
    }


class Objective(pl.LightningModule):
    """A LightningModule that is given its model.

    Subclasses compute `loss_and_sums(batch)`. After every validation `validation_metrics` holds
    its figures; `monitor` names the one that chooses the best step, `mode` is 'min' or 'max'.
    `example` is the word for what is counted. With `packs_ahead` the packing of each batch is planned
    as it is moved, and the model is to be called with `**planned(batch)`. `leaves_out_frozen`: checkpoints
    lack the weights that are not trained, which the same command has at its start.
    """

    monitor: str
    mode: str
    example = "example"
    packs_ahead = False

    def __init__(self, model: nn.Module, config: TrainConfig) -> None:
        super().__init__()
        self.model = model
        self.config = config
        self.validation_metrics: dict[str, float] = {}
        self._validation_sums: Sums = {}
        self.leaves_out_frozen = False
        # By tensor: DDP makes a new batch of the same tensors.
        self._packings = WeakTensorKeyDictionary()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leave frozen weights out of a checkpoint, if `leaves_out_frozen`."""
        if self.leaves_out_frozen:
            kept = checkpoint["state_dict"].items()
            frozen = self.frozen_names()
            checkpoint["state_dict"] = {k: v for k, v in kept if k not in frozen}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the frozen weights to those of a checkpoint, if `leaves_out_frozen`."""
        if self.leaves_out_frozen:
            checkpoint["state_dict"] = self.with_frozen(checkpoint["state_dict"])

    def with_frozen(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return weights of a checkpoint with the frozen ones, which it does not have."""
        if not self.leaves_out_frozen:
            return weights
        frozen = self.frozen_names()
        return {k: v for k, v in self.state_dict().items() if k in frozen} | weights

    def frozen_names(self) -> set[str]:
        """Return the names of the parameters that are not trained."""
        return {name for name, each in self.named_parameters() if not each.requires_grad}

    def loss_and_sums(self, batch: Any) -> tuple[Tensor, Sums]:
        """Return the loss to minimise and the figures of one batch."""
        raise NotImplementedError

    def examples_of(self, batch: Any) -> Tensor:
        """Return the numbers of a batch's examples, for messages."""
        return batch.examples_B

    def base_pairs(self, batch: Any) -> Tensor | None:
        """Return how many base pairs the tokens of a batch cover; None if it does not tell."""
        return None

    def transfer_batch_to_device(self, batch, device, dataloader_idx) -> Any:
        """Move a batch; with `packs_ahead` plan its packing before: a step on a GPU waits for nothing."""
        moved = super().transfer_batch_to_device(batch, device, dataloader_idx)
        if self.packs_ahead and hasattr(self.model, "encoder"):
            packing = self.model.encoder.packing(batch.is_padding_BT)
            pinned = packing.pin_memory() if device.type == "cuda" else packing
            self._packings[moved.is_padding_BT] = pinned.to(device)
        return moved

    def planned(self, batch: Any) -> dict[str, Packing]:
        """Return the keyword `packing` for a call of the model, if it was planned for this batch."""
        packing = self._packings.get(batch.is_padding_BT)
        return {} if packing is None else {"packing": packing}

    def training_step(self, batch: Any, batch_idx: int) -> dict:
        """Return the loss; `sums` is picked up by the history callback."""
        loss, sums = self.loss_and_sums(batch)
        return {"loss": loss, "sums": sums}

    def on_validation_epoch_start(self) -> None:
        """Forget the figures of the validation before."""
        self._validation_sums = {}

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Add up the figures of one batch."""
        _, sums = self.loss_and_sums(batch)
        add_sums(self._validation_sums, sums)

    def on_validation_epoch_end(self) -> None:
        """Divide the figures once all batches of all processes are in."""
        self.validation_metrics = ratios(
            {
                name: self.trainer.strategy.reduce(value, reduce_op="sum")
                for name, value in self._validation_sums.items()
            }
        )

    def configure_model(self) -> None:
        """Cut the model into shards if the strategy asks for it; Lightning calls this twice."""
        if isinstance(self.trainer.strategy, Sharded) and not isinstance(self.model, FSDPModule):
            shard(self.model, self.device_mesh)

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Scale the whole gradient down to a norm of `gradient_clip_val`, if that is set."""
        # Lightning's own way refuses a fused optimizer under any autocast, for the sake of a
        # scaling of the loss that bfloat16 does not have.
        if gradient_clip_val:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            nn.utils.clip_grad_norm_(parameters, gradient_clip_val)

    def configure_optimizers(self) -> dict:
        """The optimizer and a schedule that is stepped after every optimizer step."""
        optimizer, schedule = build_optimizer(self.model, self.config)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }
