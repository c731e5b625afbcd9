"""Processes that train together also end together.

A process that is killed closes its connections, and the others fail at the next exchange; but one
that has not connected yet, or computes for long, would stay behind. The kernel ends those that
Lightning started on this machine with the one that started them. Between nodes the launcher does so
(srun --kill-on-bad-exit, torchrun).
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator

from dna_bigbird.errors import InputError

STARTER = "DNA_BIGBIRD_FIRST_PROCESS"
PR_SET_PDEATHSIG = 1
LOST = ("gloo", "nccl", "connection closed by peer", "connection reset", "tcpstore", "broken pipe")


def end_with_the_first(is_first: bool) -> None:
    """Let this process be killed as soon as the first one on its machine ends (Linux).

    Args:
        is_first: This is the process that starts the others, which it leaves its number.

    Raises:
        InputError: If the first one has ended already.
    """
    if is_first:
        os.environ[STARTER] = str(os.getpid())
        return
    starter = os.environ.get(STARTER)
    if starter is None or sys.platform != "linux":  # started by srun, or by hand
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(starter):
        raise InputError("the first process of this run has ended; start the same command again")


def is_first_on_node() -> bool:
    """Return True on one process of each machine, which verifies large inputs for all of them.

    Processes that Lightning starts begin after the first one has verified; those of srun or
    torchrun wait for it when they connect, and a process that fails ends all.
    """
    rank = os.environ.get("LOCAL_RANK") or os.environ.get("SLURM_LOCALID") or "0"
    return rank == "0"


@contextlib.contextmanager
def readable_loss(processes: int) -> Iterator[None]:
    """Turn the error of a lost connection into the line a user reads.

    Raises:
        InputError: If another process of the run ended.
    """
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
