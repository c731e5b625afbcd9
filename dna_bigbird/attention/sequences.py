"""Sequences with one pattern, as a kernel reads them."""

# B sequences, H heads, T tokens, D head dimension

from typing import NamedTuple

from torch import Tensor


class Sequences(NamedTuple):
    """What `forward_into` and `backward_into` of the kernels read; the last dimension is in one piece."""

    q: Tensor
    """(B, H, T, D), as k and v."""
    k: Tensor
    v: Tensor
    lists: tuple[Tensor, Tensor, Tensor]
    """The pattern in the kernel's own form, for these tokens."""
    hidden: Tensor | None
    """(B, T) bool, contiguous; True = padding."""
    block_size: int
