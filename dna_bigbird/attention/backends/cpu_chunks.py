"""Lists of key blocks, copied and computed while they are in the cache; CPU.

As `gather`, but in chunks of a few query blocks: their keys, values and scores never leave the
cache and are never all in memory (`chunks.py`). Threads take whole heads and wait for nobody
(`workers.py`). The backward pass reads the keys again and computes the weights again from the
log-sum-exp of the scores.

The name is of the first form, which attended to the global, window and random keys apart and merged
the three by their log-sum-exp. With everything in the cache one list is as fast or faster.
"""

# B batch, H heads, T tokens, N blocks, S tokens in a block,
# C heads of a chunk, R its query blocks, D head dimension

import torch
from torch import Tensor

from dna_bigbird.attention.backends.chunks import Chunk, chunks
from dna_bigbird.attention.backends.flash import flash, product_gradients
from dna_bigbird.attention.backends.lists import lists
from dna_bigbird.attention.backends.long_lists import attend_long, long_gradients
from dna_bigbird.attention.backends.sdpa import fused, whole_blocks
from dna_bigbird.attention.backends.workers import load, share_heads, store
from dna_bigbird.attention.patterns import BlockPattern

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
HIDDEN = -1e30
"""Added to the score of a hidden key. Finite: minus infinity gives NaN where all keys are hidden."""

MOST_TOKENS = 512
"""Queries of a chunk: with 512 keys each, a megabyte of scores in float32."""


def merged(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `merged`, O(length) in time and memory; see `attend` for the arguments.

    Raises:
        ValueError: On another device than a CPU, for another type than float32, float64 or
            bfloat16, or with dropout.
    """
    if q_BHTD.device.type != "cpu":
        raise ValueError(f"backend 'merged' runs on a CPU, the tensors are on {q_BHTD.device}")
    if q_BHTD.dtype not in DTYPES:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
        raise ValueError(f"backend 'merged' computes {names}; the tensors are {q_BHTD.dtype}")
    if dropout_p:
        raise ValueError(
            f"backend 'merged' has no dropout, dropout_p is {dropout_p}; 'gather' has it"
        )
    if pattern.covers_everything:
        hidden = None if key_padding_mask_BT is None else key_padding_mask_BT[:, None, None, :]
        return fused(q_BHTD, k_BHTD, v_BHTD, hidden, 0.0)
    T = q_BHTD.shape[2]
    whole = whole_blocks(
        q_BHTD, k_BHTD, v_BHTD, key_padding_mask_BT, pattern.num_blocks * pattern.block_size
    )
    return _Merged.apply(*whole, pattern)[:, :, :T]


class _Merged(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, table: BlockPattern):
        out, lse = _attend(q, k, v, hidden, table)
        ctx.table = table
        ctx.save_for_backward(q, k, v, hidden, out, lse)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad: Tensor):
        return *_differentiate(grad, *ctx.saved_tensors, ctx.table), None, None


def _attend(
    q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, table: BlockPattern
) -> tuple[Tensor, Tensor]:
    """Return the output (B, H, T, D) and the log-sum-exp of the scores (B, H, T)."""
    dtype = torch.promote_types(q.dtype, torch.float32)
    S, H = table.block_size, q.shape[1]
    most_rows = max(1, MOST_TOKENS // S)
    # In memory as (B, T, H, D), which the projection after it wants.
    out = torch.empty_like(q.transpose(1, 2), memory_format=torch.contiguous_format).transpose(1, 2)
    lse = torch.empty(q.shape[:3], dtype=dtype)
    bias = _bias(hidden, q)

    def attend_heads(heads: slice) -> None:
        some = [load(x, heads, S, dtype) for x in (q, k, v)]
        some_bias = None if bias is None else load(bias, heads, S, dtype)
        some_out, some_lse = torch.empty_like(some[0]), torch.empty_like(some[0][..., :1])
        for chunk in chunks(lists(table), heads.start, len(some_out), table.num_blocks, most_rows):
            method = attend_long if chunk.blocks is None else flash
            parts = method(chunk.queries(some[0]), *_keys(chunk, *some[1:], some_bias))
            for whole, part in zip((some_out, some_lse), parts, strict=True):
                chunk.put(whole, part)
        if bias is not None:
            some_out.masked_fill_(some_lse < HIDDEN / 2, 0.0)
        store(out, heads, some_out)
        store(lse[..., None], heads, some_lse)

    share_heads(attend_heads, q.shape[0] * H)
    return out, lse


def _differentiate(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    hidden: Tensor | None,
    out: Tensor,
    lse: Tensor,
    table: BlockPattern,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v."""
    dtype = torch.promote_types(q.dtype, torch.float32)
    S = table.block_size
    most_rows = max(1, MOST_TOKENS // S)
    bias = _bias(hidden, q)
    gradients = tuple(torch.empty_like(q, memory_format=torch.contiguous_format) for _ in range(3))

    def differentiate_heads(heads: slice) -> None:
        of_query = [load(x, heads, S, dtype) for x in (grad, q, out, lse[..., None])]
        keys = [load(x, heads, S, dtype) for x in (k, v)]
        some_bias = None if bias is None else load(bias, heads, S, dtype)
        if bias is not None:  # a query without keys gives zero for any weights
            of_query[0] = of_query[0].masked_fill(of_query[3] < HIDDEN / 2, 0.0)
        dq, dk, dv = torch.empty_like(keys[0]), *map(torch.zeros_like, keys)
        for chunk in chunks(lists(table), heads.start, len(dq), table.num_blocks, most_rows):
            method = long_gradients if chunk.blocks is None else product_gradients
            queries = map(chunk.queries, of_query)
            of_q, of_k, of_v = method(*queries, *_keys(chunk, *keys, some_bias))
            chunk.put(dq, of_q)
            chunk.give(dk, of_k)
            chunk.give(dv, of_v)
        for whole, some in zip(gradients, (dq, dk, dv), strict=True):
            store(whole, heads, some)

    share_heads(differentiate_heads, q.shape[0] * q.shape[1])
    return gradients


def _bias(hidden_BT: Tensor | None, q_BHTD: Tensor) -> Tensor | None:
    """Return what to add to the scores of each key (B, H, T, 1); None if nothing is hidden."""
    if hidden_BT is None or not hidden_BT.any():
        return None
    B, H, T, _ = q_BHTD.shape
    bias_BT = torch.zeros(
        B, T, dtype=torch.promote_types(q_BHTD.dtype, torch.float32)
    ).masked_fill_(hidden_BT, HIDDEN)
    return bias_BT[:, None, :, None].expand(B, H, T, 1)


def _keys(chunk: Chunk, k: Tensor, v: Tensor, bias: Tensor | None):
    """Return keys, values and bias of a chunk's queries; no bias where nothing is hidden."""
    k, v = chunk.keys(k, "k"), chunk.keys(v, "v")
    added = None
    if bias is not None:
        added = chunk.keys(bias, "bias").mT
        added = added if added.any() else None
    if chunk.unused is not None:
        S = k.shape[2] // chunk.unused.shape[2]
        unused = (chunk.unused.to(k.dtype) * HIDDEN).repeat_interleave(S, 2)[:, :, None]
        added = unused if added is None else added + unused
    return k, v, added
