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
def _tables(pattern: BlockPattern, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return global rows, ordinary rows, their key blocks (H, R, M) and which of those are real."""
    is_global = torch.from_numpy(pattern.is_global)
    blocks = torch.from_numpy(pattern.key_blocks)[:, ~is_global]
    real = blocks >= 0
    return (
        is_global.nonzero().squeeze(1).to(device),
        (~is_global).nonzero().squeeze(1).to(device),
        blocks.clamp(min=0).to(device),
        real.to(device),
    )


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
    global_rows, rows, blocks_HRM, real_HRM = _tables(pattern, q.device)
    R, M = blocks_HRM.shape[1:]
    q, k, v = (x.reshape(B, H, N, b, D) for x in (q, k, v))
    heads = torch.arange(H, device=q.device)[:, None, None]

    def collected(x):
        return x[:, heads, blocks_HRM].reshape(B, H * R, M * b, D)

    hidden = (~real_HRM).reshape(1, H * R, 1, M, 1).expand(1, H * R, 1, M, b)
    if key_padding_mask is not None:
        padded = key_padding_mask.reshape(B, N, b)[:, blocks_HRM]  # B H R M b
        hidden = hidden | padded.reshape(B, H * R, 1, M, b)
    hidden = hidden.reshape(hidden.shape[0], H * R, 1, M * b)
    ordinary = _attend(
        q[:, :, rows].reshape(B, H * R, b, D), collected(k), collected(v), hidden, dropout_p
    )
    everything = None if key_padding_mask is None else key_padding_mask[:, None, None, :]
    of_global = _attend(
        q[:, :, global_rows].reshape(B, H, -1, D),
        k.reshape(B, H, N * b, D),
        v.reshape(B, H, N * b, D),
        everything,
        dropout_p,
    )
    out = torch.empty_like(q)
    out[:, :, rows] = ordinary.reshape(B, H, R, b, D)
    out[:, :, global_rows] = of_global.reshape(B, H, -1, b, D)
    return out.reshape(B, H, N * b, D)[:, :, :T]
