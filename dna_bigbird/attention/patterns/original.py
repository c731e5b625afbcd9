"""Random blocks as the published code draws them (specification §1.2)."""

import numpy as np

TABLE_TOKENS = 4096
PLAN_A_LENGTHS = (1024, 2048, 3072, 4096)
RANDOM_TOKENS = 1024


def original_random_blocks(
    num_blocks: int, block_size: int, num_random: int, num_heads: int, layer: int
) -> np.ndarray:
    """Return the random key blocks of query blocks 1 … n-2: (heads, blocks - 2, num_random).

    Raises:
        ValueError: If the published plan finds too few blocks for this number of blocks.
    """
    rng = np.random.RandomState(layer)
    if num_blocks * block_size in PLAN_A_LENGTHS:
        return _plan_a(block_size, num_random, num_heads, rng)[:, : num_blocks - 2]
    return _plan_b(num_blocks, num_random, num_heads, rng)


def _plan_a(block_size: int, num_random: int, num_heads: int, rng) -> np.ndarray:
    """The whole table for 4096 tokens, heads outer and rows inner."""
    table_blocks = TABLE_TOKENS // block_size
    last = (RANDOM_TOKENS if 2 * block_size < RANDOM_TOKENS else TABLE_TOKENS) // block_size - 1
    table = np.empty((num_heads, table_blocks - 2, num_random), dtype=np.int64)
    for head in range(num_heads):
        for row in range(1, table_blocks - 1):
            low, high = np.arange(1, max(row - 1, 1)), np.arange(row + 2, last + 1)
            if row == 1:
                pool = np.arange(3, last + 1)
            elif row == 2:
                pool = np.arange(4, last + 1)
            elif row >= table_blocks - 3 or row - 2 > last:
                pool = np.arange(1, last + 1)
            elif row + 1 == last:
                pool = low
            else:
                pool = np.concatenate([low[low <= last], high])
            table[head, row - 1] = rng.permutation(pool)[:num_random]
    return table


def _plan_b(num_blocks: int, num_random: int, num_heads: int, rng) -> np.ndarray:
    """Rows outer and heads inner, from the first segments of the sequence."""
    first = 2 * num_random + 5
    if first < num_blocks:
        segments = [(0, first, num_random)]
    elif num_random + 5 < num_blocks:
        half = num_random // 2
        segments = [(0, num_random + 5, half), (num_random + 5, num_blocks, num_random - half)]
    else:
        segments = [(0, num_blocks, num_random)]
    table = np.empty((num_heads, num_blocks - 2, num_random), dtype=np.int64)
    for row in range(1, num_blocks - 1):
        for head in range(num_heads):
            found: list[int] = []
            for start, end, count in segments:
                banned = {row - 1, row, row + 1, 0, end - 1}
                banned |= {end - 2} if row == 1 else set()
                banned |= {1} if row == end - 2 else set()
                pool = [int(c) for c in rng.permutation(np.arange(start, end)) if c not in banned]
                found += pool[:count]
            if len(found) < num_random:
                raise ValueError(f"the original plan finds too few blocks for {num_blocks} blocks")
            table[head, row - 1] = found
    return table
