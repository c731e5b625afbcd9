"""Random blocks from the whole sequence, every set equally likely: the plan of new models."""

import numpy as np


def draw_uniform(
    fixed: np.ndarray, num_blocks: int, num_random: int, num_heads: int, seed: int
) -> np.ndarray:
    """Draw without repetition from the blocks that a row does not read yet.

    Args:
        fixed: (rows, most) int64; what each row reads anyway, every block once, -1 = unused place.

    Returns:
        (heads, rows, num_random) int64, ascending, -1 at the end where no block is left.
    """
    # Blocks already read in ascending order, unused entries after all blocks.
    used = np.sort(np.where(fixed < 0, num_blocks, fixed), axis=1)
    num_free = num_blocks - (fixed >= 0).sum(axis=1)
    drawn = [_draw(used, num_free, num_blocks, num_random, seed, h) for h in range(num_heads)]
    return np.stack(drawn)


def _draw(
    used: np.ndarray,
    num_free: np.ndarray,
    num_blocks: int,
    num_random: int,
    seed: int,
    head: int,
) -> np.ndarray:
    """Floyd's algorithm over the ranks of the free blocks, all rows at once: O(rows)."""
    num_rows = len(used)
    # Raw bits, because the methods of Generator may change their stream between NumPy versions.
    bits = np.random.PCG64([seed, head, num_blocks]).random_raw(num_random * num_rows)
    uniform = (bits >> 11).reshape(num_random, num_rows) * 2.0**-53
    ranks = np.full((num_rows, num_random), -1)
    for slot in range(num_random):
        largest = num_free - num_random + slot
        rank = (uniform[slot] * (largest + 1)).astype(np.int64)
        rank = np.where((ranks == rank[:, None]).any(axis=1), largest, rank)
        ranks[:, slot] = np.where(largest >= 0, rank, -1)
    blocks = ranks.copy()
    for column in used.T:  # ascending, so each shift is final
        blocks += (blocks >= column[:, None]) & (ranks >= 0)
    # The real ones first, in ascending order: the table is easier to read, the memory to prefetch.
    return np.sort(np.where(ranks >= 0, blocks, num_blocks), axis=1) % num_blocks - (
        np.sort(ranks < 0, axis=1).astype(np.int64)
    )
