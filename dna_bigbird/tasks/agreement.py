"""Whether all processes of a run came to the same weights."""

import hashlib
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from dna_bigbird.errors import InputError
from dna_bigbird.tasks.run_folder import note
from dna_bigbird.tasks.sharding import Sharded


def sha256_of_state(weights: dict[str, Any], optimizer: dict[str, Any]) -> str:
    """Return one checksum of weights and optimizer state.

    Args:
        weights: A module's `state_dict()`.
        optimizer: An optimizer's `state_dict()`: moments, step counters and settings.
    """
    digest = hashlib.sha256()
    _add(digest, weights)
    _add(digest, optimizer)
    return digest.hexdigest()


def check_agreement(trainer: pl.Trainer, pl_module: pl.LightningModule) -> str:
    """Compare weights and optimizer state over the processes, and note their checksum.

    Every process calls it, after training. With weights in shards the whole of them has one
    checksum, and there is nothing to compare.

    Returns:
        The checksum.

    Raises:
        InputError: If processes hold different weights.
    """
    if isinstance(trainer.strategy, Sharded):
        weights = trainer.strategy.lightning_module_state_dict()
        optimizer = trainer.strategy.optimizer_state(trainer.optimizers[0])
        whole = sha256_of_state(weights, optimizer)  # the first process has them
        if trainer.is_global_zero:
            note(f"weights: sha256 {whole} (in shards on {trainer.world_size} processes)")
        return whole
    mine = sha256_of_state(pl_module.model.state_dict(), trainer.optimizers[0].state_dict())
    if trainer.world_size == 1:
        note(f"weights: sha256 {mine}")
        return mine
    all_sums: list = [None] * trainer.world_size
    torch.distributed.all_gather_object(all_sums, mine)
    if len(set(all_sums)) > 1:
        listed = ", ".join(f"process {rank}: {text[:12]}" for rank, text in enumerate(all_sums))
        raise InputError(
            f"the processes ended with different weights ({listed}): no result of this run is to "
            "be trusted. Do all nodes have the same processors, GPUs and versions? "
            "See: dna-bigbird doctor"
        )
    if trainer.is_global_zero:
        note(f"weights are the same on all {trainer.world_size} processes: sha256 {mine}")
    return mine


def _add(digest: Any, value: Any) -> None:
    """Feed tensors by type, shape and bytes, plain values by how they print."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(f"{key}:".encode())
            _add(digest, value[key])
    elif isinstance(value, list | tuple):
        for item in value:
            _add(digest, item)
    elif isinstance(value, torch.Tensor):
        digest.update(f"{value.dtype}{tuple(value.shape)}".encode())
        flat = value.detach().cpu().contiguous().view(-1)
        digest.update(np.ascontiguousarray(flat.view(torch.uint8).numpy()))
    else:
        digest.update(repr(value).encode())
