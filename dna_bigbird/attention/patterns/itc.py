"""BigBird-ITC: global blocks, a window and random blocks (paper §2, App. D)."""

import functools
import json
from dataclasses import asdict, dataclass

import numpy as np

from dna_bigbird.attention.patterns.original import (
    huggingface_random_blocks,
    original_random_blocks,
)
from dna_bigbird.attention.patterns.pattern import BlockPattern, full


def draw_uniform(
    fixed: np.ndarray, num_blocks: int, num_random: int, num_heads: int, seed: int
) -> np.ndarray:
    """Draw from what a row does not read yet: (heads, rows, num_random) ascending, then -1."""
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


# --- The published random blocks next to global blocks that are not the published ones ---


def random_blocks_with_globals(
    published: np.ndarray, is_global: np.ndarray, fixed: np.ndarray, layer: int
) -> np.ndarray:
    """Return the random blocks of the ordinary rows when other blocks than the published are global.

    The table (heads, blocks - 2, num_random) stays as published. The last block was global there,
    so its blocks are drawn as in plan 'uniform', with the layer as the seed. A random block that a
    row reads anyway is left out (-1), so every block counts once; heads may read different numbers.
    """
    heads, _, num_random = published.shape
    table = np.full((heads, len(is_global), num_random), -1)
    table[:, 1:-1] = published
    table[:, -1:] = draw_uniform(fixed[-1:], len(is_global), num_random, heads, layer)
    table = table[:, ~is_global]
    is_fixed = (table[..., None] == fixed[None, :, None, :]).any(axis=3)
    return np.where(is_fixed, -1, table)


PLANS = ("uniform", "original", "huggingface")
GLOBAL_BLOCKS = ("first_last", "first_two", "none")


def bigbird_itc(
    num_blocks: int,
    block_size: int,
    num_random: int,
    num_heads: int,
    plan: str = "uniform",
    seed: int = 0,
    *,
    window_blocks: int = 3,
    global_blocks: str = "first_last",
    table_tokens: int = 4096,
    training: bool = False,
) -> BlockPattern:
    """Build the BigBird-ITC pattern; a pure function of its arguments, and kept.

    Global blocks read every block and are read by every block. Every other block reads those, its
    window (itself and as many blocks on either side as there are) and its random blocks. The
    window does not wrap.

    Args:
        num_blocks: Blocks in the sequence.
        num_random: Random key blocks of an ordinary query block.
        plan: 'uniform' draws them without repetition from all blocks that are neither window nor
            global, and takes as many as there are: a short sequence is simply covered.
            'original' repeats the published code, with its random blocks among the first 1,024
            tokens, its repeats at 1,024 tokens and its full attention for up to 5 + 2 num_random
            blocks (specification §1.2, §1.4). 'huggingface' repeats what that library computes.
        seed: Any number from 0 (each layer gets its own); with the other plans the layer index.
        window_blocks: 0 or odd, the block itself included; with 0 not even that one is read.
        global_blocks: 'first_last', 'first_two' or 'none'. The published plans have a window of 3
            and 'first_last'. With 'first_two' their table stays, the last block draws as in
            'uniform', and no block counts twice (`random_blocks_with_globals`). 'none' they do not know.
        table_tokens: Only for 'huggingface': its `max_position_embeddings`. The random blocks for
            1,024, 3,072 and 4,096 tokens come from a table of that length.
        training: Only for 'huggingface': True for the blocks it draws in training. In evaluation
            it reads block 0 in their place, which so counts 1 + num_random times (once with
            'first_two', where no block counts twice).

    Raises:
        ValueError: If a number is out of range, a name is unknown or a block would read nothing.

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
    _check(num_blocks, block_size, num_random, num_heads, plan, seed, table_tokens)
    check_reach(plan, window_blocks, global_blocks, num_random)
    if plan != "huggingface":  # equal patterns are one object, and so are the plans made of it
        table_tokens, training = 0, False
    return _build(
        num_blocks, block_size, num_random, num_heads, plan, seed,
        window_blocks, global_blocks, table_tokens, bool(training),
    )  # fmt: skip


def check_reach(plan: str, window_blocks: int, global_blocks: str, num_random: int) -> None:
    """Raise ValueError for settings that contradict each other; the same for every length."""
    if plan not in PLANS:
        raise ValueError(f"plan must be one of {', '.join(PLANS)}, got {plan!r}")
    if global_blocks not in GLOBAL_BLOCKS:
        raise ValueError(
            f"global_blocks must be one of {', '.join(GLOBAL_BLOCKS)}, got {global_blocks!r}"
        )
    if window_blocks < 0 or (window_blocks and window_blocks % 2 == 0):
        raise ValueError(f"window_blocks must be 0 or odd, got {window_blocks}")
    if plan != "uniform" and (window_blocks != 3 or global_blocks == "none"):
        raise ValueError(
            f"plan {plan!r} has window_blocks 3 and global_blocks first_last or first_two; got "
            f"{window_blocks} and {global_blocks}. Use plan 'uniform'"
        )
    if window_blocks == 0 and global_blocks == "none" and num_random == 0:
        raise ValueError(
            "window_blocks 0, global_blocks none and num_random 0: no block would read anything"
        )


def _check(
    num_blocks: int,
    block_size: int,
    num_random: int,
    num_heads: int,
    plan: str,
    seed: int,
    table_tokens: int,
) -> None:
    if num_blocks < 1 or block_size < 1 or num_heads < 1 or num_random < 0 or seed < 0:
        raise ValueError(
            f"num_blocks {num_blocks}, block_size {block_size} and num_heads {num_heads} must be "
            f"at least 1, num_random {num_random} and seed {seed} at least 0"
        )
    if plan == "huggingface" and table_tokens < 1:
        raise ValueError(f"table_tokens must be at least 1, got {table_tokens}")


@functools.lru_cache(maxsize=1024)
def _build(
    num_blocks: int,
    block_size: int,
    num_random: int,
    num_heads: int,
    plan: str,
    seed: int,
    window_blocks: int,
    global_blocks: str,
    table_tokens: int,
    training: bool,
) -> BlockPattern:
    is_global, fixed = global_and_window(num_blocks, window_blocks, global_blocks)
    num_free = num_blocks - (fixed >= 0).sum(axis=1)
    # Where every block is global, window or drawn, it is full attention; the published plans give
    # up earlier.
    if (num_free <= num_random).all() or (plan != "uniform" and num_blocks <= 5 + 2 * num_random):
        return full(num_blocks, block_size, num_heads)
    if plan == "uniform":
        drawn = draw_uniform(fixed, num_blocks, num_random, num_heads, seed)
    elif plan == "original":
        drawn = original_random_blocks(num_blocks, block_size, num_random, num_heads, seed)
    else:
        drawn = huggingface_random_blocks(
            num_blocks, block_size, num_random, num_heads, seed,
            table_tokens=table_tokens, training=training,
        )  # fmt: skip
    if plan != "uniform" and global_blocks != "first_last":
        drawn = random_blocks_with_globals(drawn, is_global, fixed, seed)
    table = np.full((num_heads, num_blocks, fixed.shape[1] + num_random), -1)
    fixed_of_heads = np.broadcast_to(fixed, (num_heads, *fixed.shape))
    table[:, ~is_global] = np.concatenate([fixed_of_heads, drawn], axis=2)
    return BlockPattern(table, is_global, block_size)


def global_and_window(
    num_blocks: int, window_blocks: int, global_blocks: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return which blocks are global, and what the others read without drawing (-1 unused)."""
    of_name = {"first_last": [0, num_blocks - 1], "first_two": [0, 1], "none": []}
    is_global = np.zeros(num_blocks, dtype=bool)
    is_global[[block for block in of_name[global_blocks] if block < num_blocks]] = True
    rows = np.flatnonzero(~is_global)
    half = min(window_blocks // 2, num_blocks - 1)
    offsets = np.arange(-half, half + 1) if window_blocks else np.arange(0)
    window = rows[:, None] + offsets
    outside = (window < 0) | (window >= num_blocks)
    window = np.where(outside | is_global[np.where(outside, 0, window)], -1, window)
    globals_of_rows = np.broadcast_to(np.flatnonzero(is_global), (len(rows), is_global.sum()))
    before = 1 if global_blocks == "first_last" else is_global.sum()  # ascending where possible
    parts = [globals_of_rows[:, :before], window, globals_of_rows[:, before:]]
    return is_global, np.concatenate(parts, axis=1)


# --- The patterns of one layer for sequences of every length ---

FULL = "full"


@dataclass(frozen=True)
class PatternRule:
    """What decides the pattern of a sequence, next to its number of blocks.

    A rule can be written as text, which an operator of PyTorch can take: the text says everything,
    so it means the same in every process and in compiled code that is kept in a file.

    Attributes:
        plan: 'full', or a plan of `bigbird_itc`, as are all settings after it.

    Example:
        >>> rule = PatternRule(num_heads=2, block_size=16)
        >>> rule.pattern(num_tokens=40).num_blocks
        3
        >>> PatternRule.of_text(rule.text()) == rule
        True
    """

    num_heads: int
    block_size: int
    plan: str = FULL
    num_random: int = 0
    seed: int = 0
    window_blocks: int = 3
    global_blocks: str = "first_last"
    table_tokens: int = 4096
    training: bool = False

    def pattern(self, num_tokens: int) -> BlockPattern:
        """Return the pattern of a sequence of `num_tokens` tokens; its last block may be ragged."""
        num_blocks = -(-num_tokens // self.block_size)
        if self.plan == FULL:
            return full(num_blocks, self.block_size, self.num_heads)
        return bigbird_itc(
            num_blocks,
            self.block_size,
            self.num_random,
            self.num_heads,
            self.plan,
            self.seed,
            window_blocks=self.window_blocks,
            global_blocks=self.global_blocks,
            table_tokens=self.table_tokens,
            training=self.training,
        )

    def text(self) -> str:
        """Return the rule as text."""
        return json.dumps(asdict(self))

    @staticmethod
    @functools.lru_cache(maxsize=4096)
    def of_text(text: str) -> "PatternRule":
        """Return the rule that `text` gives."""
        return PatternRule(**json.loads(text))
