"""BigBird-ITC: first and last block global, a window of three, random blocks (paper §2, App. D)."""

import functools

import numpy as np

from dna_bigbird.attention.patterns.original import original_random_blocks
from dna_bigbird.attention.patterns.pattern import BlockPattern

PLANS = ("uniform", "original")


@functools.lru_cache(maxsize=4096)
def bigbird_itc(
    num_blocks: int,
    block_size: int,
    num_random: int,
    num_heads: int,
    plan: str = "uniform",
    seed: int = 0,
) -> BlockPattern:
    """Build the BigBird-ITC pattern; a pure function of its arguments.

    Args:
        num_blocks: Blocks in the sequence.
        num_random: Random key blocks of an ordinary query block.
        plan: 'uniform' draws them without repetition from all blocks that are neither window nor
            global, and takes as many as there are; 'original' repeats the published code.
        seed: With 'original' the layer index.

    Raises:
        ValueError: If a number is out of range or the plan is unknown.
    """
    if plan not in PLANS:
        raise ValueError(f"plan must be one of {', '.join(PLANS)}, got {plan!r}")
    if num_blocks < 1 or block_size < 1 or num_heads < 1 or num_random < 0:
        raise ValueError(
            f"num_blocks {num_blocks}, block_size {block_size} and num_heads {num_heads} must be "
            f"at least 1, num_random {num_random} at least 0"
        )
    last = num_blocks - 1
    small = num_blocks <= 5 + 2 * num_random if plan == "original" else num_blocks <= 4
    if small or num_blocks <= 4 + (num_random if plan == "uniform" else 0):
        everything = np.full((num_heads, num_blocks, 1), -1)
        return BlockPattern(everything, np.ones(num_blocks, dtype=bool), block_size)
    if plan == "original":
        random_blocks = original_random_blocks(num_blocks, block_size, num_random, num_heads, seed)
    else:
        random_blocks = _uniform_random_blocks(num_blocks, num_random, num_heads, seed)
    table = np.full((num_heads, num_blocks, 5 + num_random), -1)
    for row in range(1, last):
        fixed = sorted({0, row - 1, row, row + 1, last})
        table[:, row, : len(fixed)] = fixed
        table[:, row, len(fixed) : len(fixed) + num_random] = random_blocks[:, row - 1]
    is_global = np.zeros(num_blocks, dtype=bool)
    is_global[[0, last]] = True
    return BlockPattern(table, is_global, block_size)


def _uniform_random_blocks(
    num_blocks: int, num_random: int, num_heads: int, seed: int
) -> np.ndarray:
    """Return (heads, blocks - 2, num_random), -1 where there are too few blocks to choose from."""
    chosen = np.full((num_heads, num_blocks - 2, num_random), -1)
    for head in range(num_heads):
        rng = np.random.default_rng([seed, head, num_blocks])
        for row in range(1, num_blocks - 1):
            taken = {0, row - 1, row, row + 1, num_blocks - 1}
            free = [block for block in range(1, num_blocks - 1) if block not in taken]
            count = min(num_random, len(free))
            chosen[head, row - 1, :count] = rng.choice(free, size=count, replace=False)
    return chosen
