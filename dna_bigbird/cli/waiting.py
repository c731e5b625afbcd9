"""How threads of a command wait for each other; to be called before torch is imported."""

import os

CHOICES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Variables by which a user chooses: the standard's, and those of GCC's and LLVM's libraries."""
SETTINGS = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "10000"}
"""GCC's library turns 300,000 times by default, and not at all if passive. 10,000 turns cost nothing
measurable alone and gain the most next to busy processes: benchmarks/waiting.py."""


def let_waiting_threads_sleep() -> None:
    """Let OpenMP threads sleep after a short wait, unless the user chose how they wait.

    PyTorch's threads and those of the native kernel meet many times per layer. By default each
    waits in a loop that keeps its processor busy. Where another program wants that processor, the
    thread that is waited for does not run meanwhile, and everything becomes many times slower
    (docs/predicting.md has the figures). Processes started by this one inherit the choice.
    """
    if not any(name in os.environ for name in CHOICES):
        os.environ.update(SETTINGS)
