"""Gather the key blocks of every query block, then one dense attention per block."""

# B batch, H heads, T tokens, D head dimension, N blocks, b tokens in a block, R ordinary query
# blocks, M key blocks of an ordinary query block, G global query tokens

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.patterns import BlockPattern

HIDDEN = -1e30  # finite, or the gradients of a row without keys are NaN


@functools.lru_cache(maxsize=1024)
def _tables(pattern: BlockPattern, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the key blocks of ordinary query blocks (H, R, M), the same as flat rows of a
    (H * N) table, and which of them are real.

    The first and the last block are the global ones.
    """
    blocks = torch.from_numpy(pattern.key_blocks)[:, 1:-1]
    real = blocks >= 0
    blocks = blocks.clamp(min=0)
    heads = torch.arange(pattern.num_heads)[:, None, None]
    flat = (heads * pattern.num_blocks + blocks).flatten()
    return blocks.to(device), flat.to(device), real.to(device)


def _attend(q, k, v, hidden: Tensor | None, dropout_p: float) -> Tensor:
    """Scaled dot-product attention in which a query without keys gives zero.

    `hidden` (True = hidden) broadcasts to (…, queries, keys) and is the same for all queries.
    """
    if hidden is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)
    bias = torch.zeros(hidden.shape, dtype=q.dtype, device=q.device).masked_fill(
        hidden, max(HIDDEN, torch.finfo(q.dtype).min / 2)
    )
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout_p)
    return out.masked_fill(hidden.all(dim=-1, keepdim=True), 0.0)


def gather(q, k, v, pattern: BlockPattern, key_padding_mask: Tensor | None, dropout_p: float):
    """Backend `gather`: O(length) time and memory."""
    B, H, T, D = q.shape
    b, N = pattern.block_size, pattern.num_blocks
    if pattern.covers_everything:
        hidden = None if key_padding_mask is None else key_padding_mask[:, None, None, :]
        return _attend(q, k, v, hidden, dropout_p)
    rest = N * b - T
    if rest:
        q, k, v = (F.pad(x, (0, 0, 0, rest)) for x in (q, k, v))
        if key_padding_mask is None:
            key_padding_mask = torch.zeros(B, T, dtype=torch.bool, device=q.device)
        key_padding_mask = F.pad(key_padding_mask, (0, rest), value=True)
    blocks_HRM, flat_HRM, real_HRM = _tables(pattern, q.device)
    H, R, M = blocks_HRM.shape

    def collected(x):
        # index_select and its backward (index_add) copy whole blocks; indexing would scatter.
        return x.reshape(B, H * N, b * D).index_select(1, flat_HRM).view(B, H * R, M * b, D)

    hidden = (~real_HRM).reshape(1, H * R, 1, M, 1).expand(1, H * R, 1, M, b)
    if key_padding_mask is not None:
        padded = key_padding_mask.reshape(B, N, b)[:, blocks_HRM]  # B H R M b
        hidden = hidden | padded.reshape(B, H * R, 1, M, b)
    hidden = hidden.reshape(hidden.shape[0], H * R, 1, M * b)
    ordinary = _attend(
        q[:, :, b:-b].reshape(B, H * R, b, D), collected(k), collected(v), hidden, dropout_p
    )
    of_global = _attend(
        torch.cat([q[:, :, :b], q[:, :, -b:]], dim=2),
        k,
        v,
        None if key_padding_mask is None else key_padding_mask[:, None, None, :],
        dropout_p,
    )
    ordinary = ordinary.view(B, H, R * b, D)
    return torch.cat([of_global[:, :, :b], ordinary, of_global[:, :, b:]], dim=2)[:, :, :T]
