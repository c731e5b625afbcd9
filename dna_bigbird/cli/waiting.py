"""How threads of a command wait for each other; it takes effect only before torch is imported."""

import os

CHOICES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Variables that a user can set: of the OpenMP standard, of GCC's and of LLVM's library."""
SETTINGS = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "10000"}
"""GCC's library spins 300,000 times by default, and not at all if passive. 10,000 times cost nothing
measurable on an idle machine and gain the most next to busy processes: benchmarks/waiting.py."""


def let_waiting_threads_sleep() -> None:
    """Let OpenMP threads sleep after a short wait, unless the user chose how they wait.

    Threads of PyTorch and of the native kernel wait for each other many times per layer, by default
    in a loop that keeps the processor busy. If another program needs that processor, the thread that
    the others wait for cannot run, and everything becomes many times slower (figures:
    docs/predicting.md). Child processes inherit the setting.
    """
    if not any(name in os.environ for name in CHOICES):
        os.environ.update(SETTINGS)
