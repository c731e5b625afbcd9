"""What the sparse backends share: whole blocks, and PyTorch's fused attention."""

import functools
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.patterns import BlockPattern

# H heads, N blocks, R query blocks, M key blocks


class Group(NamedTuple):
    """Query blocks that read equally many key blocks."""

    rows: Tensor
    """(R), ascending."""
    blocks: Tensor
    """(H, R, M): what they read; a block that counts twice is listed twice."""
    unused: Tensor | None
    """(H, R, M), True where a head reads fewer blocks than another; None if all read M. Such a
    place repeats a block that the head reads, and is hidden."""


class Lists(NamedTuple):
    """A pattern as lists of blocks."""

    global_rows: Tensor
    """Rows that read every block once."""
    groups: list[Group]


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def lists(pattern: BlockPattern) -> Lists:
    """Return the lists of a pattern."""
    table = pattern.key_blocks
    is_global = pattern.is_global | _reads_each_once(table)
    read = (table >= 0).sum(axis=2)
    widths = np.where(is_global, 0, read.max(axis=0))
    groups = []
    for width in np.unique(widths[widths > 0]):
        rows = np.flatnonzero(widths == width)
        in_order = np.argsort(table[:, rows] < 0, axis=2, kind="stable")[..., :width]
        blocks = np.take_along_axis(table[:, rows], in_order, axis=2)
        unused = blocks < 0
        blocks = np.where(unused, blocks[..., :1], blocks)
        groups.append(
            Group(
                torch.from_numpy(rows),
                torch.from_numpy(blocks),
                torch.from_numpy(unused) if unused.any() else None,
            )
        )
    return Lists(torch.from_numpy(np.flatnonzero(is_global)), groups)


def _reads_each_once(table: np.ndarray) -> np.ndarray:
    """Return which rows list every block once in all heads: global in all but name."""
    N, most = table.shape[1:]
    if most < N:
        return np.zeros(N, dtype=bool)
    in_order = np.sort(table, axis=2)
    rest, highest = in_order[..., : most - N], in_order[..., most - N :]
    return (rest < 0).all(axis=(0, 2)) & (highest == np.arange(N)).all(axis=(0, 2))


def sdpa(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, dropout_p: float) -> Tensor:
    """Scaled dot-product attention in which a query without keys gives zero."""
    # `hidden` (True = hidden) broadcasts to (…, queries, keys) and is the same for all queries.
    if hidden is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)
    nothing_seen = hidden.all(dim=-1, keepdim=True)
    # Such a query reads everything and its result is dropped: no NaN forward or backward.
    visible = ~hidden | nothing_seen
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, dropout_p=dropout_p)
    return out.masked_fill(nothing_seen, 0.0)


def whole_blocks(
    q: Tensor, k: Tensor, v: Tensor, hidden_BT: Tensor | None, num_tokens: int
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return q, k, v (batch, heads, tokens, head_dim) and padding, lengthened by hidden tokens."""
    B, _, T, _ = q.shape
    missing = num_tokens - T
    if not missing:
        return q, k, v, hidden_BT
    if hidden_BT is None:
        hidden_BT = torch.zeros(B, T, dtype=torch.bool, device=q.device)
    q, k, v = (F.pad(x, (0, 0, 0, missing)) for x in (q, k, v))
    return q, k, v, F.pad(hidden_BT, (0, missing), value=True)
