"""Rotary positions: queries and keys turned by an angle in proportion to their position."""

# P packed tokens, H heads, D head size, F frequencies: D / 2

import torch
from torch import Tensor


def turns(positions_P: Tensor, head_dim: int, base: float, dtype: torch.dtype) -> Tensor:
    """Return cosine and sine of the angles of every position: (P, 1, F, 2).

    Frequency i turns position p by p * base^(-2 i / D) (Su et al. 2021, RoFormer). Angles are taken
    in float64, so a distant token is turned as exactly as the first one.

    Args:
        positions_P: Position of each token in its sequence, from 0.
        base: Of the frequencies; the slowest pair turns once in about 2 pi * base tokens.
        dtype: Of the heads to be turned; the result is float32, or float64 for float64.
    """
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64, device=positions_P.device)
    angles_PF = positions_P[:, None].double() * base ** (-exponents / head_dim)
    return torch.stack([angles_PF.cos(), angles_PF.sin()], dim=-1).to(wide)[:, None]


def rotate(heads_PHD: Tensor, turns_P1F2: Tensor) -> Tensor:
    """Turn values 2 i and 2 i + 1 of each head as a pair by the angle of frequency i.

    So the product of a query at position p and a key at position r depends on p - r only, for any
    length. The arithmetic is that of `turns_P1F2`; shape and type stay.
    """
    pairs = heads_PHD.to(turns_P1F2.dtype).unflatten(-1, (-1, 2))
    if torch.compiler.is_compiling():  # which makes one loop of it, but has no complex numbers
        (x, y), (cos, sin) = pairs.unbind(-1), turns_P1F2.unbind(-1)
        turned = torch.stack([x * cos - y * sin, x * sin + y * cos], dim=-1)
    else:  # one product instead of four, a sum, a difference and a copy
        turned = torch.view_as_complex(pairs) * torch.view_as_complex(turns_P1F2)
        turned = torch.view_as_real(turned)
    return turned.flatten(-2).to(heads_PHD.dtype)
