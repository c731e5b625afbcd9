"""Lists of key blocks, copied and computed while they are in the cache; CPU.

As `gather`, but in chunks of a few query blocks: their keys, values and scores never leave the
cache and are never all in memory. The backward pass computes the weights again from the log-sum-exp
of the scores. One list of keys is as fast as global, window and random keys apart, or faster.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.backends.sdpa import Lists, lists, sdpa, whole_blocks
from dna_bigbird.attention.backends.softmax_parts import (
    HIDDEN,
    flash,
    flash_gradients,
    product_gradients,
)
from dna_bigbird.attention.backends.workers import load, share_heads, store, workspace
from dna_bigbird.attention.patterns import BlockPattern

# G heads, C heads of a chunk, R its query blocks, M key blocks that each of them reads,
# N blocks, S tokens in a block, D any last dimension
# X, Y: C and R, or 1 and C where all queries of a head read the same; L queries, K keys


class Chunk(NamedTuple):
    """Some rows of some heads."""

    heads: slice
    rows: Tensor | slice
    blocks: Tensor | None
    """(C, R, M): what they read, numbered through the C heads; None if they read everything."""
    unused: Tensor | None
    """(C, R, M): True for blocks that are hidden (`lists.Group`); None if there are none."""

    def queries(self, x_GNSD: Tensor) -> Tensor:
        """Return what belongs to the rows: (X, Y, L, D)."""
        consecutive = isinstance(self.rows, slice)
        some = x_GNSD[self.heads]
        some = some[:, self.rows] if consecutive else some.index_select(1, self.rows)
        return some.flatten(1, 2)[None] if self.blocks is None else some

    def put(self, into_GNSD: Tensor, values: Tensor) -> None:
        """Write what belongs to the rows, in the shape that `queries` gives."""
        some = into_GNSD[self.heads]
        values = values.reshape(len(some), -1, *some.shape[2:])
        if isinstance(self.rows, slice):
            some[:, self.rows] = values
        else:
            some.index_copy_(1, self.rows, values)

    def keys(self, x_GNSD: Tensor, name: str) -> Tensor:
        """Return what the rows read: (X, Y, K, D), valid until this thread asks by that name again."""
        some = x_GNSD[self.heads]
        C, N, S, D = some.shape
        if self.blocks is None:
            return some.flatten(1, 2)[None]
        copied = workspace(name, (self.blocks.numel(), S * D), some.dtype)
        torch.index_select(some.view(C * N, S * D), 0, self.blocks.flatten(), out=copied)
        return copied.view(C, self.blocks.shape[1], -1, D)

    def give(self, total_GNSD: Tensor, grad: Tensor) -> None:
        """Add the gradient of what `keys` returned."""
        some = total_GNSD[self.heads]
        C, N, S, D = some.shape
        if self.blocks is None:
            some += grad.view(some.shape)
        else:
            grad = grad.reshape(-1, S * D)
            some.view(C * N, S * D).index_add_(0, self.blocks.flatten(), grad)


def chunks(
    of_pattern: Lists, first_head: int, num_heads: int, num_blocks: int, most_rows: int
) -> Iterator[Chunk]:
    """Yield chunks that together hold every query block of some heads once."""
    # The heads are counted through all sequences of a batch. Rows that read everything are one chunk.
    if len(of_pattern.global_rows):
        yield Chunk(slice(0, num_heads), of_pattern.global_rows, None, None)
    for group in of_pattern.groups:
        in_pattern = torch.arange(first_head, first_head + num_heads) % len(group.blocks)
        heads_a_chunk = max(1, most_rows // len(group.rows))
        for first in range(0, num_heads, heads_a_chunk):
            heads = slice(first, min(first + heads_a_chunk, num_heads))
            blocks = group.blocks.index_select(0, in_pattern[heads])
            blocks += num_blocks * torch.arange(len(blocks))[:, None, None]
            unused = None
            if group.unused is not None:
                unused = group.unused.index_select(0, in_pattern[heads])
            yield from _rows(group.rows, blocks, unused, heads, most_rows)


def _rows(
    all_rows: Tensor, blocks: Tensor, unused: Tensor | None, heads: slice, most_rows: int
) -> Iterator[Chunk]:
    for start in range(0, len(all_rows), most_rows):
        part = slice(start, start + most_rows)
        rows = all_rows[part]
        first, last = int(rows[0]), int(rows[-1])
        consecutive = last - first + 1 == len(rows)
        hidden = None if unused is None or not unused[:, part].any() else unused[:, part]
        yield Chunk(heads, slice(first, last + 1) if consecutive else rows, blocks[:, part], hidden)


# --- Attention of a few queries over very many keys, the rows of global blocks; CPU ---
#
# A handful of large matrix products per head, given to oneDNN, which on some processors is twice as
# fast as what PyTorch uses for float32 by itself, at the same precision.

# X, Y any, L queries, K keys, D head dimension


MOST_SCORES = 1 << 22
"""Scores of one head (16 MB in float32); beyond, the kernel that keeps none is as fast."""


def _product(x: Tensor, y: Tensor) -> Tensor:
    """Return x @ y.mT of two matrices."""
    if x.dtype == torch.float32 and torch.backends.mkldnn.is_available():
        return torch.ops.mkldnn._linear_pointwise(x, y, None, "none", [], "")
    return x @ y.mT


def attend_long(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the same as `flash`: output (X, Y, L, D) and log-sum-exp (X, Y, L, 1)."""
    if q.shape[2] * k.shape[2] > MOST_SCORES:
        return flash(q, k, v, bias)
    out, lse = torch.empty_like(q), torch.empty_like(q[..., :1])
    scaled = q / math.sqrt(q.shape[-1])
    for at in np.ndindex(q.shape[:2]):
        scores = _product(scaled[at], k[at])
        if bias is not None:
            scores += bias[at]
        largest = scores.amax(dim=-1, keepdim=True)
        weights = torch.softmax(scores, dim=-1, out=scores)
        lse[at] = largest - weights.amax(dim=-1, keepdim=True).log_()
        out[at] = _product(weights, v[at].mT)
    return out, lse


def long_gradients(
    grad: Tensor, q: Tensor, out: Tensor, lse: Tensor, k: Tensor, v: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v."""
    if q.shape[2] * k.shape[2] > MOST_SCORES:
        return flash_gradients(grad, q, out, lse, k, v, bias)
    of_q, of_k, of_v = (torch.empty_like(x) for x in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1])
    delta = (grad * out).sum(dim=-1, keepdim=True)
    scaled = q * scale
    for at in np.ndindex(q.shape[:2]):
        weights = _product(scaled[at], k[at])
        if bias is not None:
            weights += bias[at]
        weights.sub_(lse[at]).exp_()
        of_scores = _product(grad[at], v[at]).sub_(delta[at]).mul_(weights)
        # The narrow matrix first, and transposed: oneDNN is slow to transpose the wide one.
        of_v[at] = _product(grad[at].mT.contiguous(), weights.mT).mT
        of_k[at] = _product(scaled[at].mT.contiguous(), of_scores.mT).mT
        of_q[at] = _product(of_scores, k[at].mT).mul_(scale)
    return of_q, of_k, of_v


# B batch, H heads, T tokens, N blocks, S tokens in a block,
# C heads of a chunk, R its query blocks, D head dimension


DTYPES = (torch.float32, torch.float64, torch.bfloat16)
MOST_TOKENS = 512
"""Queries of a chunk: with 512 keys each, a megabyte of scores in float32."""


def cpu_chunks(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `cpu_chunks`, O(length) in time and memory; see `attend` for the arguments."""
    if q_BHTD.device.type != "cpu":
        raise ValueError(f"backend 'cpu_chunks' runs on a CPU, the tensors are on {q_BHTD.device}")
    if q_BHTD.dtype not in DTYPES:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
        raise ValueError(f"backend 'cpu_chunks' computes {names}; the tensors are {q_BHTD.dtype}")
    if dropout_p:
        raise ValueError(
            f"backend 'cpu_chunks' has no dropout, dropout_p is {dropout_p}; 'gather' has it"
        )
    if pattern.covers_everything:
        hidden = None if key_padding_mask_BT is None else key_padding_mask_BT[:, None, None, :]
        return sdpa(q_BHTD, k_BHTD, v_BHTD, hidden, 0.0)
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
