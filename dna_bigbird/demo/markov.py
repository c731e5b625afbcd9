"""Generated background: a Markov chain that was fitted on the real piece of the demo."""

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.genome.motifs import LETTERS

ORDER = 5
"""Bases that decide the next one."""


def fit_chain(sequence: str) -> NDArray[np.float64]:
    """Return the cumulated chances of the bases A C G T after ORDER bases: (4 ** ORDER, 4)."""
    # Windows with N are left out. Every count starts at 1, so that no base is impossible.
    codes = _codes(sequence)
    windows = np.lib.stride_tricks.sliding_window_view(codes, ORDER + 1)
    windows = windows[(windows >= 0).all(axis=1)]
    numbers = windows @ 4 ** np.arange(ORDER, -1, -1)
    counts = 1.0 + np.bincount(numbers, minlength=4 ** (ORDER + 1)).reshape(-1, 4)
    return (counts / counts.sum(axis=1, keepdims=True)).cumsum(axis=1)


def draw_sequences(
    chain: NDArray[np.float64], count: int, length: int, rng: np.random.Generator
) -> list[str]:
    """Draw independent sequences from a chain of `fit_chain`."""
    burn_in = 50  # bases, after which the chain has forgotten the first ones
    contexts = rng.integers(0, len(chain), count)
    drawn = np.empty((length, count), dtype=np.uint8)
    for step in range(-burn_in, length):
        uniform = rng.random((count, 1))
        bases = (uniform > chain[contexts, :3]).sum(axis=1)
        contexts = (contexts * 4 + bases) % len(chain)
        if step >= 0:
            drawn[step] = bases
    text = np.frombuffer(LETTERS.encode(), dtype=np.uint8)[drawn.T]
    return [row.tobytes().decode("ascii") for row in text]


def _codes(sequence: str) -> NDArray[np.int64]:
    table = np.full(256, -1, dtype=np.int64)
    table[np.frombuffer(LETTERS.encode(), dtype=np.uint8)] = range(4)
    return table[np.frombuffer(sequence.encode("ascii"), dtype=np.uint8)]
