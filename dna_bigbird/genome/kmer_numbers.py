"""Numbers of k-mers: one for a k-mer and its reverse complement; parts of a window in which they are counted."""

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def canonical_kmers(k: int) -> NDArray[np.int64]:
    """Return for every k-mer of k bases the number that it shares with its reverse complement.

    Example:
        >>> canonical_kmers(1).tolist()
        [0, 1, 1, 0]
    """
    kmers = np.arange(4**k)
    digits = kmers[:, None] // 4 ** np.arange(k) % 4  # the last base first
    reverse = ((3 - digits) * 4 ** np.arange(k)[::-1]).sum(axis=1)
    return np.unique(np.minimum(kmers, reverse), return_inverse=True)[1].reshape(-1)


PART_BP, MOST_PARTS, PART_K = 15, 40, 3
MOST_ONE_HOT_BP = 320
"""Longest window of which every base is a feature; a longer one would take gigabytes for 50,000 rows."""


def part_of_starts(window_bp: int) -> NDArray[np.int64]:
    """Return the part of the window that each of its 3-mers begins in: of 15 bases, or more above 600.

    Example:
        >>> part_of_starts(19).tolist()
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    """
    part_bp = max(PART_BP, -(-window_bp // MOST_PARTS))
    return np.arange(max(window_bp - PART_K + 1, 0)) // part_bp


def num_positional(window_bp: int) -> tuple[int, int]:
    """Return how many numbers say which base is where, and how many count 3-mers in parts."""
    one_hot = 4 * window_bp if window_bp <= MOST_ONE_HOT_BP else 0
    return one_hot, len(np.unique(part_of_starts(window_bp))) * 4**PART_K
