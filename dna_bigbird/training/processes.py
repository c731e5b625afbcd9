"""Processes that train together: they begin at the same step, agree on the weights and end together.

A process that is killed closes its connections, and the others fail at the next exchange; but one
that has not connected yet, or computes for long, would stay behind. The kernel ends those that
Lightning started on this machine with the one that started them. Between nodes the launcher does so
(srun --kill-on-bad-exit, torchrun).
"""

import contextlib
import ctypes
import functools
import os
import signal
import sys
from collections.abc import Iterator

import pytorch_lightning as pl
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.training.checkpoint_files import content_sha256
from dna_bigbird.training.run_folder import note
from dna_bigbird.training.sharding import Sharded

STARTER = "DNA_BIGBIRD_FIRST_PROCESS"
PR_SET_PDEATHSIG = 1
LOST = ("gloo", "nccl", "connection closed by peer", "connection reset", "tcpstore", "broken pipe")


@contextlib.contextmanager
def ended_with_the_first(is_first: bool) -> Iterator[None]:
    """Let this process be killed as soon as the first one on its machine ends (Linux)."""
    if is_first:
        os.environ[STARTER] = str(os.getpid())
        try:
            yield
        finally:
            del os.environ[
                STARTER
            ]  # processes of a job that is submitted afterwards inherit the rest
        return
    starter = os.environ.get(STARTER)
    if starter is not None and sys.platform == "linux":  # else started by srun, or by hand
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(starter):
            raise InputError(
                "the first process of this run has ended; start the same command again"
            )
    yield


def is_first_on_node() -> bool:
    """Return True on one process of each machine, which verifies large inputs for all of them."""
    # Processes that Lightning starts begin after the first one has verified; those of srun or
    # torchrun wait for it when they connect, and a process that fails ends all.
    rank = os.environ.get("LOCAL_RANK") or os.environ.get("SLURM_LOCALID") or "0"
    return rank == "0"


@contextlib.contextmanager
def readable_loss(processes: int) -> Iterator[None]:
    """Turn the error of a lost connection into the line a user reads."""
    try:
        yield
    except RuntimeError as error:
        text = str(error).lower()
        if processes == 1 or not any(word in text for word in LOST):
            raise
        reason = " ".join(str(error).split())[:160]
        raise InputError(
            "another process of this run has ended; its own message, if it had time for one, "
            f"is above. The same command goes on from the last checkpoint. ({reason})"
        ) from error


@functools.lru_cache(maxsize=1)
def _on_cpus(world: object) -> torch.distributed.ProcessGroup:
    """Return all processes, connected by their CPUs; `world` is another group in another run."""
    return torch.distributed.new_group(backend="gloo")


def highest(trainer: pl.Trainer, value: int) -> int:
    """Return the highest value (0 to 255) of the processes; all must ask at the same step."""
    # It asks the processes, not their GPUs, which a program that asked each step would wait for.
    if trainer.world_size == 1:
        return value
    values = torch.tensor([value], dtype=torch.uint8)
    torch.distributed.all_reduce(
        values, torch.distributed.ReduceOp.MAX, group=_on_cpus(torch.distributed.group.WORLD)
    )
    return int(values)


class SameStart(pl.Callback):
    """Stops a training whose processes read different newest checkpoints."""

    # Each process looks into the folder for itself, and a node may see a shared disk as it was up
    # to a minute ago (NFS). They would train on different weights.

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Compare the steps."""
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


def check_agreement(trainer: pl.Trainer, pl_module: pl.LightningModule) -> str:
    """Compare weights and optimizer state over the processes; note and return their checksum."""
    # With weights in shards the whole of them has one checksum, and there is nothing to compare.
    if isinstance(trainer.strategy, Sharded):
        weights = trainer.strategy.lightning_module_state_dict()
        optimizer = trainer.strategy.optimizer_state(trainer.optimizers[0])
        whole = content_sha256([weights, optimizer])  # the first process has them
        if trainer.is_global_zero:
            note(f"weights: sha256 {whole} (in shards on {trainer.world_size} processes)")
        return whole
    mine = content_sha256([pl_module.model.state_dict(), trainer.optimizers[0].state_dict()])
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
