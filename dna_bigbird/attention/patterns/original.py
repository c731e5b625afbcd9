"""Random blocks as the published code and the Hugging Face library draw them (specification §1.2)."""

import numpy as np

TABLE_TOKENS = 4096
RANDOM_TOKENS = 1024
PLAN_A_LENGTHS = (1024, 2048, 3072, 4096)
HUGGINGFACE_PLAN_A_LENGTHS = (1024, 3072, 4096)


def original_random_blocks(
    num_blocks: int, block_size: int, num_random: int, num_heads: int, layer: int
) -> np.ndarray:
    """Return the random key blocks of query blocks 1 … n-2: (heads, blocks - 2, num_random)."""
    # Meant for more than 5 + 2 `num_random` blocks: with fewer the published code finds too few blocks,
    # and full attention takes its place (§1.4).
    rng = np.random.RandomState(layer)
    if num_blocks * block_size in PLAN_A_LENGTHS:
        table = _plan_a(TABLE_TOKENS, block_size, num_random, num_heads, rng)
        return table[:, : num_blocks - 2]
    return _plan_b(num_blocks, num_random, num_heads, rng)


def huggingface_random_blocks(
    num_blocks: int,
    block_size: int,
    num_random: int,
    num_heads: int,
    layer: int,
    *,
    table_tokens: int,
    training: bool,
) -> np.ndarray:
    """Return what that library reads in place of the random blocks; shapes as above."""
    # It draws only in training, where it differs from the published code in two ways: 2,048 tokens
    # follow plan B, and the table of plan A is made for `table_tokens` (its `max_position_embeddings`)
    # before it is cut. In evaluation every random slot is block 0.
    plan_a = num_blocks * block_size in HUGGINGFACE_PLAN_A_LENGTHS
    if plan_a and table_tokens // block_size < num_blocks:
        raise ValueError(
            f"plan 'huggingface' has a table for table_tokens {table_tokens} = "
            f"{table_tokens // block_size} blocks of {block_size}, the sequence has {num_blocks}"
        )
    if not training:
        return np.zeros((num_heads, num_blocks - 2, num_random), dtype=np.int64)
    rng = np.random.RandomState(layer)
    if plan_a:
        return _plan_a(table_tokens, block_size, num_random, num_heads, rng)[:, : num_blocks - 2]
    return _plan_b(num_blocks, num_random, num_heads, rng)


def _first(pool: np.ndarray, num_random: int, row: int) -> np.ndarray:
    if len(pool) < num_random:
        raise ValueError(
            f"the published plan has {len(pool)} blocks to choose from in block row {row}, "
            f"num_random is {num_random}; use plan 'uniform' or fewer random blocks"
        )
    return pool[:num_random]


def _plan_a(
    table_tokens: int, block_size: int, num_random: int, num_heads: int, rng: np.random.RandomState
) -> np.ndarray:
    """The whole table for `table_tokens`, heads outer and rows inner; shorter lengths cut it."""
    # Columns come from 1 … `last` only, without the window of the row. At 1,024 tokens cut from 4,096
    # `last` is the global last block, so a row may read it twice: kept, for published weights rely on it.
    table_blocks = table_tokens // block_size
    last = RANDOM_TOKENS // block_size - 1 if 2 * block_size < RANDOM_TOKENS else table_blocks
    last = min(last, table_blocks - 2)
    table = np.empty((num_heads, table_blocks - 2, num_random), dtype=np.int64)
    for head in range(num_heads):
        for row in range(1, table_blocks - 1):
            before = np.arange(1, min(row - 2, last) + 1)
            if row <= 2:
                pool = np.arange(row + 2, last + 1)
            elif row >= table_blocks - 3 or row - 2 > last:
                pool = np.arange(1, last + 1)
            else:
                pool = np.concatenate([before, np.arange(row + 2, last + 1)])
            table[head, row - 1] = _first(rng.permutation(pool), num_random, row)
    return table


def _plan_b(
    num_blocks: int, num_random: int, num_heads: int, rng: np.random.RandomState
) -> np.ndarray:
    """Rows outer and heads inner, all from the first 2 r + 5 blocks."""
    # The published plans for fewer blocks are never reached: full attention comes first.
    end = 2 * num_random + 5
    table = np.empty((num_heads, num_blocks - 2, num_random), dtype=np.int64)
    for row in range(1, num_blocks - 1):
        banned = {row - 1, row, row + 1, 0, end - 1}
        if row == 1:
            banned.add(end - 2)
        if row == end - 2:
            banned.add(1)
        for head in range(num_heads):
            order = rng.permutation(np.arange(end))
            allowed = np.array([c for c in order.tolist() if c not in banned], dtype=np.int64)
            table[head, row - 1] = _first(allowed, num_random, row)
    return table
