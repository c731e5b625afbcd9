"""Problems among which one backend is taken for the fastest."""

from dataclasses import dataclass

import torch

SHORTEST = 128
"""Tokens of the shortest class."""


@dataclass(frozen=True)
class ShapeClass:
    """What the speed of a backend is measured for."""

    dtype: str
    """As of PyTorch: 'bfloat16'."""
    head_dim: int
    block_size: int
    tokens: int
    """A power of two; of sequences up to this length and longer than half of it."""
    training: bool
    """Forward and backward, or forward only."""

    @classmethod
    def of(
        cls, dtype: torch.dtype, head_dim: int, block_size: int, num_tokens: int, training: bool
    ) -> "ShapeClass":
        """Return the class of a problem.

        Example:
            >>> print(ShapeClass.of(torch.bfloat16, 64, 64, 3000, training=False))
            bfloat16, heads of 64, blocks of 64, up to 4,096 tokens, forward
        """
        tokens = max(1 << (max(num_tokens, 1) - 1).bit_length(), SHORTEST)
        return cls(str(dtype).removeprefix("torch."), head_dim, block_size, tokens, training)

    def __str__(self) -> str:
        mode = "forward and backward" if self.training else "forward"
        return (
            f"{self.dtype}, heads of {self.head_dim}, blocks of {self.block_size}, up to "
            f"{self.tokens:,} tokens, {mode}"
        )
