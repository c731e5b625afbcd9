"""BigBird-ITC: first and last block global, a window of three, random blocks (paper §2, App. D)."""

import functools

import numpy as np

from dna_bigbird.attention.patterns.original import original_random_blocks
from dna_bigbird.attention.patterns.pattern import BlockPattern, full

PLANS = ("uniform", "original")


@functools.lru_cache(maxsize=1024)
def bigbird_itc(
    num_blocks: int,
    block_size: int,
    num_random: int,
    num_heads: int,
    plan: str = "uniform",
    seed: int = 0,
) -> BlockPattern:
    """Build the BigBird-ITC pattern; a pure function of its arguments.

    Block 0 and the last block read every block and are read by every block. Every other block
    reads those two, its neighbours, itself and its random blocks. The window does not wrap.

    Args:
        num_blocks: Blocks in the sequence.
        num_random: Random key blocks of an ordinary query block.
        plan: 'uniform' draws them without repetition from all blocks that are neither window nor
            global, and takes as many as there are: a short sequence is simply covered.
            'original' repeats the published code, with its random blocks among the first 1,024
            tokens, its repeats at 1,024 tokens and its full attention for up to 5 + 2 num_random
            blocks (specification §1.2, §1.4).
        seed: Any number from 0 (each layer gets its own); with 'original' the layer index.

    Raises:
        ValueError: If a number is out of range or the plan is unknown.

    Example:
        >>> from dna_bigbird.attention.patterns import draw
        >>> print(draw(bigbird_itc(6, block_size=64, num_random=0, num_heads=1), head=0))
        ######
        ###..#
        ####.#
        #.####
        #..###
        ######
    """
    if plan not in PLANS:
        raise ValueError(f"plan must be one of {', '.join(PLANS)}, got {plan!r}")
    if num_blocks < 1 or block_size < 1 or num_heads < 1 or num_random < 0 or seed < 0:
        raise ValueError(
            f"num_blocks {num_blocks}, block_size {block_size} and num_heads {num_heads} must be "
            f"at least 1, num_random {num_random} and seed {seed} at least 0"
        )
    # Up to here every block is window, global or drawn; the original gives up earlier.
    covered = 5 + 2 * num_random if plan == "original" else 4 + num_random
    if num_blocks <= max(covered, 4):
        return full(num_blocks, block_size, num_heads)
    window, outside = _window_and_global(num_blocks)
    if plan == "original":
        drawn = original_random_blocks(num_blocks, block_size, num_random, num_heads, seed)
    else:
        drawn = np.stack(
            [_draw_uniform(window, outside, num_random, seed, h) for h in range(num_heads)]
        )
    table = np.full((num_heads, num_blocks, 5 + num_random), -1)
    table[:, 1:-1] = np.concatenate(
        [np.broadcast_to(np.where(outside, -1, window), (num_heads, *window.shape)), drawn], axis=2
    )
    is_global = np.zeros(num_blocks, dtype=bool)
    is_global[[0, -1]] = True
    return BlockPattern(table, is_global, block_size)


def _window_and_global(num_blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return blocks 0, i-1, i, i+1, last of every ordinary row i, and which of them are repeats."""
    rows = np.arange(1, num_blocks - 1)
    first, last = np.zeros_like(rows), np.full_like(rows, num_blocks - 1)
    blocks = np.stack([first, rows - 1, rows, rows + 1, last], axis=1)
    repeats = np.zeros(blocks.shape, dtype=bool)
    repeats[0, 1] = repeats[-1, 3] = True  # next to a global block the window overlaps it
    return blocks, repeats


def _draw_uniform(
    taken: np.ndarray, repeats: np.ndarray, num_random: int, seed: int, head: int
) -> np.ndarray:
    """Draw without repetition from the blocks not taken: (rows, num_random), -1 where none is left.

    Floyd's algorithm over the ranks of the free blocks, all rows at once: O(rows), not O(rows²).
    """
    num_rows = len(taken)
    num_blocks = num_rows + 2
    num_free = num_blocks - taken.shape[1] + repeats.sum(axis=1)
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
    for column in np.where(repeats, num_blocks, taken).T:  # ascending, so each shift is final
        blocks += (blocks >= column[:, None]) & (ranks >= 0)
    # The real ones first, in ascending order: the table is easier to read, the memory to prefetch.
    return np.sort(np.where(ranks >= 0, blocks, num_blocks), axis=1) % num_blocks - (
        np.sort(ranks < 0, axis=1).astype(np.int64)
    )
