"""Rotary positions: queries and keys turned by an angle in proportion to their position."""

# B sequences, T tokens, H heads, D head size

import functools

import torch
from torch import Tensor


@functools.lru_cache(maxsize=32)
def _table(num_tokens: int, head_dim: int, base: float, device: torch.device) -> Tensor:
    """Return cosines and sines (2, T, 1, 1, D / 2) in float32 of angles taken in float64."""
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    positions = torch.arange(num_tokens, dtype=torch.float64)
    angles = torch.outer(positions, base**-exponents)[:, None, None, :]
    return torch.stack([angles.cos(), angles.sin()]).float().to(device)


def rotate(heads: Tensor, base: float) -> Tensor:
    """Turn the vectors of each head by the angles of their position in the sequence.

    Value i and value i + D / 2 of a vector at position p are turned as a pair by the angle
    p * base^(-2 i / D) (Su et al. 2021, RoFormer, in the order of GPT-NeoX). So the product of a
    query at position p and a key at position r depends on p - r only, for any length.

    Args:
        heads: (B, T, any, H, D), position 0 first; D even.
        base: Of the frequencies; the slowest pair turns once in about 2 pi * base tokens.

    Returns:
        The same shape and type; the arithmetic is float32.
    """
    cos, sin = _table(heads.shape[1], heads.shape[-1], base, heads.device)
    first, second = heads.float().chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(heads.dtype)
