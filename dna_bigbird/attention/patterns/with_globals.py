"""The published random blocks next to global blocks that are not the published ones."""

import numpy as np

from dna_bigbird.attention.patterns.uniform import draw_uniform


def moved_random_blocks(
    published: np.ndarray, is_global: np.ndarray, fixed: np.ndarray, layer: int
) -> np.ndarray:
    """Return the random blocks of the ordinary rows when other blocks than the published are global.

    The table stays as published. The last block was global there, so the table has no row for it:
    its blocks are drawn as in plan 'uniform', from those that it does not read yet, with the layer
    as the seed. A random block that a row reads anyway, as a global block or in its window, is left
    out, so every block counts once.

    Args:
        published: (heads, blocks - 2, num_random); the table of query blocks 1 … n-2.
        is_global: (blocks,) bool.
        fixed: (ordinary rows, most); what they read without drawing, -1 in unused places.

    Returns:
        (heads, ordinary rows, num_random) int64; -1 where a random block is left out, so that heads
        may read different numbers of blocks.
    """
    heads, _, num_random = published.shape
    table = np.full((heads, len(is_global), num_random), -1)
    table[:, 1:-1] = published
    table[:, -1:] = draw_uniform(fixed[-1:], len(is_global), num_random, heads, layer)
    table = table[:, ~is_global]
    is_fixed = (table[..., None] == fixed[None, :, None, :]).any(axis=3)
    return np.where(is_fixed, -1, table)
