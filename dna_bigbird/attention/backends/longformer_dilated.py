"""Longformer in linear time and memory: heads with dilation are ordinary windows of other sequences.

A head with dilation d reads, from position i, only positions that equal i modulo d. So its tokens are d
sequences that do not read each other's windows, with windows without dilation: `longformer_windows.py`
computes them, as d times as many sequences of a d-th of the length. Global keys are the same for all.
"""

# B batch, H heads, T tokens, G global tokens, D head dimension, d dilation, N = ceil(T / d)

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.backends.longformer_band import Cut, Windows
from dna_bigbird.attention.backends.longformer_positions import Positions
from dna_bigbird.attention.backends.longformer_windows import blocked_windows
from dna_bigbird.attention.backends.sdpa import fused
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout


def blocked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
    cut: Cut | None = None,
    positions: Positions | None = None,
) -> Tensor:
    """Return the output of ordinary tokens (B, H, T, D), zero for the others.

    Args:
        cut: How the work is cut; the result does not depend on it. By default as the device computes
            well.
        positions: Relative positions of a causal pattern: queries (B, H, T, D), and a table (B, H, R, D)
            with the key m steps to the left in row m. More rows than the window needs are not read.
    """
    T = q.shape[2]
    groups = pattern.heads_by_dilation(q.shape[1])
    parts = []
    for dilation, heads in groups.items():
        some = [x if len(groups) == 1 else x[:, heads] for x in (q, k, v)]
        of_global = [_for_each_residue(layout.gathered(x), dilation) for x in some[1:]]
        windows = _windows(pattern, layout, dilation)
        of_heads = None
        if positions is not None:
            windows = windows._replace(left=min(windows.left, windows.no_window.shape[1] - 1))
            of_heads = Positions(*(x if len(groups) == 1 else x[:, heads] for x in positions))
            of_heads = _positions_by_residue(of_heads, dilation, windows.left + 1)
        out = blocked_windows(
            *(_by_residue(x, dilation) for x in some),
            *of_global,
            windows,
            dropout_p,
            cut,
            of_heads,
        )
        parts.append(_by_position(out, dilation, T))
    if len(parts) == 1:
        return parts[0]
    order = torch.tensor([h for heads in groups.values() for h in heads], device=q.device)
    return torch.cat(parts, dim=1)[:, order.argsort()]


def blocked_global(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
) -> Tensor:
    """Return the output of global tokens (B, H, G, D), by PyTorch's fused attention."""
    hidden = layout.hidden_from_global(pattern.is_causal)
    is_needed = pattern.is_causal or layout.has_padding
    return fused(q, k, v, hidden[:, None] if is_needed else None, dropout_p)


def _windows(pattern: LongformerPattern, layout: LongformerLayout, dilation: int) -> Windows:
    """Return who reads whom among the tokens of each residue, as (B d) sequences."""
    hidden = _by_residue(layout.no_window[:, None, :, None], dilation, value=True)[:, 0, :, 0]
    positions = layout.global_positions[:, None]
    first = torch.zeros_like(positions).expand(-1, dilation, -1)
    if pattern.is_causal:
        residue = torch.arange(dilation, device=positions.device)[:, None]
        first = (positions - residue + dilation - 1).div(dilation, rounding_mode="floor")
    first = first.masked_fill(layout.is_unused[:, None], hidden.shape[1]).flatten(0, 1)
    return Windows(hidden, first, pattern.window, pattern.furthest_right)


def _by_residue(x: Tensor, dilation: int, value: object = 0.0) -> Tensor:
    """Return the tokens of each residue as sequences: (B d, H, N, D) of (B, H, T, D)."""
    if dilation == 1:
        return x
    missing = -x.shape[2] % dilation
    whole = F.pad(x, (0, 0, 0, missing), value=value) if missing else x
    return whole.unflatten(2, (-1, dilation)).permute(0, 3, 1, 2, 4).flatten(0, 1)


def _positions_by_residue(positions: Positions, dilation: int, num_keys: int) -> Positions:
    """Return the positions of the sequences of each residue, with the keys from left to right."""
    table = positions.table[:, :, :num_keys].flip(2)
    return Positions(_by_residue(positions.q, dilation), _for_each_residue(table, dilation))


def _by_position(x: Tensor, dilation: int, num_tokens: int) -> Tensor:
    """Return the inverse of `_by_residue`."""
    if dilation == 1:
        return x
    whole = x.unflatten(0, (-1, dilation)).permute(0, 2, 3, 1, 4).flatten(2, 3)
    return whole[:, :, :num_tokens]


def _for_each_residue(x: Tensor, dilation: int) -> Tensor:
    """Return (B d, H, G, D): what belongs to a sequence, for each of its residues."""
    return x if dilation == 1 else x.repeat_interleave(dilation, dim=0)
