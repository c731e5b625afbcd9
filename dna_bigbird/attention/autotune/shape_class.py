"""Problems among which one backend is taken for the fastest."""

import re
from dataclasses import dataclass
from pathlib import Path

import torch

DRIVER = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Device:
    """What a choice of backend is kept for: with any other, it is measured again."""

    name: str
    driver: str
    torch: str

    @classmethod
    def here(cls) -> "Device":
        """Return the GPU that PyTorch computes on now."""
        return cls(torch.cuda.get_device_name(), driver_version(), torch.__version__)


def driver_version(path: Path = DRIVER) -> str:
    """Return the version of the NVIDIA driver, or what CUDA PyTorch was built for if it is unknown."""
    try:
        match = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", path.read_text())
    except OSError:
        match = None
    return match[0] if match else f"CUDA {torch.version.cuda}"


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
