"""Why a query block reads a key block: for drawings."""

import numpy as np

from dna_bigbird.attention.patterns.itc import global_and_window
from dna_bigbird.attention.patterns.pattern import BlockPattern

NOT_READ, GLOBAL, WINDOW, RANDOM, REPEATED = range(5)
LETTERS = ".gwr"


def reasons(
    pattern: BlockPattern, head: int, window_blocks: int, global_blocks: str, *, drawn: bool = True
) -> np.ndarray:
    """Return NOT_READ, GLOBAL, WINDOW, RANDOM or REPEATED for every pair of blocks of one head.

    O(blocks²): for drawing.

    Args:
        window_blocks, global_blocks: Those that `bigbird_itc` built the pattern with.
        drawn: False if full attention took the pattern's place: then every block is global.

    Returns:
        (query blocks, key blocks) int64. A block counted more than once is always
        REPEATED; one that is global and in the window is GLOBAL.
    """
    times = one_head(pattern, head).times()[0]
    is_global, _ = global_and_window(pattern.num_blocks, window_blocks, global_blocks)
    if not drawn:
        is_global = pattern.is_global
    block = np.arange(pattern.num_blocks)
    apart = np.abs(block[:, None] - block)
    codes = np.where(apart <= window_blocks // 2 if window_blocks else apart < 0, WINDOW, RANDOM)
    codes[is_global] = GLOBAL
    codes[:, is_global] = GLOBAL
    return np.where(times > 1, REPEATED, np.where(times == 0, NOT_READ, codes))


def draw_reasons(pattern: BlockPattern, head: int, codes: np.ndarray) -> str:
    """Return one head as text, one line per query block, one letter per key block.

    'g' global, 'w' window, 'r' random, '.' not read; a digit for a block counted so often (9: nine
    times or more).
    """
    times = one_head(pattern, head).times()[0]
    return "\n".join(
        "".join(
            str(min(n, 9)) if code == REPEATED else LETTERS[code]
            for n, code in zip(*row, strict=True)
        )
        for row in zip(times, codes, strict=True)
    )


def one_head(pattern: BlockPattern, head: int) -> BlockPattern:
    """Return the pattern of one head alone.

    Raises:
        ValueError: If there is no such head.
    """
    if not 0 <= head < pattern.num_heads:
        raise ValueError(f"head {head} is not one of 0 … {pattern.num_heads - 1}")
    return BlockPattern(pattern.key_blocks[head : head + 1], pattern.is_global, pattern.block_size)
