"""Rotary positions: queries and keys turned by an angle in proportion to their position."""

# B sequences, T tokens, H heads, D head size

import functools

import torch
from torch import Tensor

LEAST_TABLE = 1024
"""Positions of the shortest table that is made."""


@functools.lru_cache(maxsize=16)
def _table(
    num_tokens: int, head_dim: int, base: float, dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Return exp(i angle), (T, 1, D / 2) complex of parts in `dtype`; angles are taken in float64."""
    with torch.inference_mode(False):  # else a table of a prediction could not serve a training
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
        positions = torch.arange(num_tokens, dtype=torch.float64)
        angles = torch.outer(positions, base**-exponents)[:, None]
        return torch.complex(angles.cos().to(dtype), angles.sin().to(dtype)).to(device)


def rotate(heads_BTHD: Tensor, base: float) -> Tensor:
    """Turn the vectors of each head by the angles of their position in the sequence.

    Values 2 i and 2 i + 1 of a vector at position p are turned as a pair by the angle
    p * base^(-2 i / D) (Su et al. 2021, RoFormer). So the product of a query at position p and a key
    at position r depends on p - r only, for any length.

    Args:
        heads_BTHD: Position 0 first; D even.
        base: Of the frequencies; the slowest pair turns once in about 2 pi * base tokens.

    Returns:
        The same shape and type; the arithmetic is float32, or float64 for float64.
    """
    T, D = heads_BTHD.shape[1], heads_BTHD.shape[3]
    wide = torch.float64 if heads_BTHD.dtype == torch.float64 else torch.float32
    # A power of two: sequences of most lengths share a table.
    longest = max(1 << (T - 1).bit_length(), LEAST_TABLE)
    turns = _table(longest, D, base, wide, heads_BTHD.device)[:T]
    # A complex number for each pair: one product instead of four, a sum, a difference and a copy.
    pairs = torch.view_as_complex(heads_BTHD.to(wide).unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2).to(heads_BTHD.dtype)
