"""Weights, gradients and moments in shards over the processes (FSDP)."""

from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.strategies import ModelParallelStrategy
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard


class Sharded(ModelParallelStrategy):
    """Every process holds its part of every weight; a layer is put together while it computes."""

    # Checkpoints are whole models in one file, as an unsharded run writes them, so a run may go on
    # with another number of processes, or unsharded. Lightning's own would number the moments in
    # the order of the model, torch's optimizer numbers them in the order of its groups.

    def __init__(self, processes: int) -> None:
        super().__init__(
            data_parallel_size=processes, tensor_parallel_size=1, save_distributed_checkpoint=False
        )

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Return the whole state on the first process, as `optimizer.state_dict()` would; else {}."""
        optimizer = getattr(optimizer, "optimizer", optimizer)  # Lightning wraps it
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        named = get_optimizer_state_dict(self.model, optimizer, options=options)
        if self.global_rank != 0:
            return {}
        return _renamed(named, {name: number for number, name in enumerate(_parameters(named))})

    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a whole checkpoint on every process and keep this one's shards of it."""
        checkpoint = torch.load(checkpoint_path, map_location="cpu", weights_only=True, mmap=True)
        options = StateDictOptions(full_state_dict=True)
        set_model_state_dict(self.model, checkpoint.pop("state_dict"), options=options)
        name_of = {parameter: name for name, parameter in self.model.named_parameters()}
        states = checkpoint.pop("optimizer_states")
        for optimizer, numbered in zip(self.optimizers, states, strict=True):
            order = [name_of[p] for group in optimizer.param_groups for p in group["params"]]
            names = dict(zip(_parameters(numbered), order, strict=True))
            named = _renamed(numbered, names)
            set_optimizer_state_dict(self.model, optimizer, named, options=options)
        return checkpoint


def _parameters(state: dict[str, Any]) -> list:
    """Return the keys of an optimizer's state in the order of its groups."""
    return [key for group in state["param_groups"] for key in group["params"]]


def _renamed(state: dict[str, Any], new: dict) -> dict[str, Any]:
    groups = [g | {"params": [new[key] for key in g["params"]]} for g in state["param_groups"]]
    return {
        "state": {
            new[key]: state["state"][key] for key in _parameters(state) if key in state["state"]
        },
        "param_groups": groups,
    }


def shard(model: nn.Module, mesh: DeviceMesh) -> None:
    """Cut a model's weights in place: layer by layer, then what is left."""
    processes = mesh["data_parallel"]
    for layer in model.encoder.layers if hasattr(model, "encoder") else ():
        fully_shard(layer, mesh=processes)
    fully_shard(model, mesh=processes)
