"""The integer table of a block-sparse pattern."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Which key blocks each query block reads, per head.

    Attributes:
        key_blocks: (heads, blocks, most) int64; the key blocks of each query block, filled up
            with -1. A block that stands twice is counted twice. Rows of global query blocks are -1.
        is_global: (blocks,) bool; query blocks that read every key block once.
        block_size: Tokens in one block.
    """

    key_blocks: np.ndarray
    is_global: np.ndarray
    block_size: int

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
        """True if every query reads every key, as in dense attention."""
        return bool(self.is_global.all())

    def times(self) -> np.ndarray:
        """Return how often each query block counts each key block: (heads, blocks, blocks) int64.

        O(blocks²) in memory: for the oracle and for drawing.
        """
        heads, blocks, _ = self.key_blocks.shape
        counts = np.zeros((heads, blocks, blocks + 1), dtype=np.int64)
        head, row, _ = np.indices(self.key_blocks.shape)
        np.add.at(counts, (head, row, self.key_blocks), 1)  # -1 lands in the last column
        counts = counts[..., :blocks]
        counts[:, self.is_global] = 1
        return counts


def draw(pattern: BlockPattern, head: int = 0) -> str:
    """Return the pattern of one head as text: '.' not read, '#' read once, a digit if more often."""
    rows = pattern.times()[head]
    return "\n".join("".join(".#"[n] if n < 2 else str(min(n, 9)) for n in row) for row in rows)
