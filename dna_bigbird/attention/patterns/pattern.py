"""The integer table of a block-sparse pattern."""

import functools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Which key blocks each query block reads, per head: O(blocks) integers.

    Attributes:
        key_blocks: (heads, blocks, most) int64; the key blocks of each query block, with -1 in
            unused places. A block that is listed twice is counted twice in the softmax. Heads may
            read different numbers of blocks. Rows of global query blocks hold -1 only.
        is_global: (blocks,) bool; query blocks that read every key block once.
        block_size: Tokens in one block; the last block of a sequence may be ragged.

    Raises:
        ValueError: If the table has a wrong shape, a block outside the sequence, or a query block
            that reads nothing in one of the heads.
    """

    key_blocks: np.ndarray
    is_global: np.ndarray
    block_size: int

    def __post_init__(self) -> None:
        table, is_global = self.key_blocks, self.is_global
        if table.ndim != 3 or is_global.shape != table.shape[1:2] or self.block_size < 1:
            raise ValueError(
                f"key_blocks must be (heads, blocks, most) and is_global (blocks,), got "
                f"{table.shape} and {is_global.shape} with block_size {self.block_size}"
            )
        if table.size and not (table.min() >= -1 and table.max() < table.shape[1]):
            raise ValueError(
                f"key blocks must be -1 … {table.shape[1] - 1}, got {table.min()} … {table.max()}"
            )
        read = (table >= 0).sum(axis=2)
        wrong = np.where(is_global, read != 0, read == 0).any(axis=0)
        if wrong.any():
            raise ValueError(
                f"query block {wrong.argmax()} reads {read[:, wrong.argmax()].tolist()} blocks in "
                "the heads of key_blocks; global ones list 0, the others at least one"
            )
        table.setflags(write=False)
        is_global.setflags(write=False)

    @property
    def num_heads(self) -> int:
        """Heads in the table."""
        return self.key_blocks.shape[0]

    @property
    def num_blocks(self) -> int:
        """Query blocks, as many as key blocks."""
        return self.key_blocks.shape[1]

    @property
    def covers_everything(self) -> bool:
        """True if every query block is global: dense attention."""
        return bool(self.is_global.all())

    def times(self) -> np.ndarray:
        """Return how often each query block counts each key block: (heads, blocks, blocks)."""
        heads, blocks, _ = self.key_blocks.shape
        counts = np.zeros((heads, blocks, blocks + 1), dtype=np.int64)
        head, row, _ = np.indices(self.key_blocks.shape)
        np.add.at(counts, (head, row, self.key_blocks), 1)  # -1 lands in the last column
        counts = counts[..., :blocks]
        counts[:, self.is_global] = 1
        return counts


@functools.lru_cache(maxsize=1024)
def full(num_blocks: int, block_size: int, num_heads: int) -> BlockPattern:
    """Return the pattern in which every query reads every key.

    Example:
        >>> full(3, block_size=16, num_heads=2).covers_everything
        True
    """
    nothing = np.full((num_heads, num_blocks, 0), -1)
    return BlockPattern(nothing, np.ones(num_blocks, dtype=bool), block_size)


def draw(pattern: BlockPattern, head: int = 0) -> str:
    """Return one head as text: '#' read, '.' not read, a digit for a block counted more than once.

    A line is a query block; a column is a key block.
    """
    rows = pattern.times()[head]
    return "\n".join("".join(".#"[n] if n < 2 else str(min(n, 9)) for n in row) for row in rows)
