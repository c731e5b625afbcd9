"""Long queries of BigBird-ETC: one softmax over the band and the global tokens, block by block.

Time is linear in the long stream, and so is memory: of the scores only those of a few blocks exist
at a time, forward and backward. The backward pass computes the weights again from the log-sum-exp.
"""

# B batch, H heads, L long tokens, T the same with padding: N blocks of S, G global tokens,
# c blocks of a chunk, W long keys of a block, D head dimension, V labels

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.backends.etc_band import BLOCK, Band, BandMasks
from dna_bigbird.attention.backends.etc_scores import add_cross_labels, cross_label_gradient
from dna_bigbird.attention.backends.softmax_parts import (
    LEAST,
    Dropout,
    dropped,
    exponentials,
    finished,
    hide,
    new_seed,
)
from dna_bigbird.attention.etc_heads import EtcHeads, label_scores, wide
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

NUM_CROSS = 2
"""Labels between the streams, the last ones of a row of label scores."""


def blocked_long(
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float = 0.0,
    block: int = BLOCK,
) -> Tensor:
    """Return the output of the long stream (B, H, L, D) in linear time and memory.

    Args:
        block: Queries of a block in mode 'exact'; the result does not depend on it.
    """
    order = [*pattern.labels_by_offset(), pattern.label_outside, pattern.label_belongs]
    of_label = label_scores(heads, order)
    tensors = (heads.q, heads.k_long, heads.v_long, heads.k_global, heads.v_global, of_label)
    masks = BandMasks(Band.of(pattern, block), pattern, layout)
    return _Long.apply(*tensors, masks, dropout_p, new_seed(dropout_p))


class _Chunk:
    """The scores of a few blocks and what they were computed from, in float32 or better."""

    def __init__(self, masks: BandMasks, blocks: slice, padded: "_Padded") -> None:
        self.band = masks.band
        self.q, self.of_label = padded.rows(padded.q, blocks), padded.rows(padded.of_label, blocks)
        self.k = masks.windows(padded.k, blocks)
        self.v = masks.windows(padded.v, blocks)
        self.k_global, self.v_global = padded.k_global, padded.v_global
        visible, self.belongs = masks.of_global(blocks, self.q.dtype)
        self.visible = masks.visible_band(blocks, self.q.dtype), visible
        self.long = (self.q @ self.k.mT).contiguous()
        self.band.add_labels(self.long, self.of_label)
        self.glob = self.q @ self.k_global.mT
        add_cross_labels(self.glob, self.of_label[..., -NUM_CROSS:], self.belongs)
        for scores, seen in zip((self.long, self.glob), self.visible, strict=True):
            hide(scores, seen)

    def exponentials(self, subtracted: Tensor) -> tuple[Tensor, Tensor]:
        """Turn the scores into exp(score - subtracted), in place."""
        return (
            exponentials(self.long, subtracted, self.visible[0]),
            exponentials(self.glob, subtracted, self.visible[1]),
        )

    def top(self) -> Tensor:
        """Return the largest score of each query (B, H, c, S, 1), at least `LEAST`."""
        tops = (x.amax(-1, keepdim=True) for x in (self.long, self.glob))
        return torch.maximum(*tops).clamp_(min=LEAST)


class _Padded:
    """The inputs in float32 or better, scaled, in whole blocks and with keys beyond both ends."""

    def __init__(self, masks: BandMasks, q, k, v, k_global, v_global, of_label) -> None:
        band, dtype = masks.band, wide(q.dtype)
        self.block, self.missing = band.block, masks.num_blocks * band.block - q.shape[2]
        self.q = self.whole(q.to(dtype) * q.shape[-1] ** -0.5)
        beyond = (0, 0, band.radius, band.radius + self.missing)
        self.k, self.v = (F.pad(x.to(dtype), beyond) for x in (k, v))
        self.k_global, self.v_global = (x.to(dtype)[:, :, None] for x in (k_global, v_global))
        self.of_label = self.whole(of_label)

    def whole(self, x: Tensor) -> Tensor:
        """Return (B, H, L, any) with zeros up to a whole block."""
        return F.pad(x, (0, 0, 0, self.missing)) if self.missing else x

    def rows(self, x: Tensor, blocks: slice) -> Tensor:
        """Return the rows of some blocks: (B, H, c, S, any) of (B, H, T, any)."""
        S = self.block
        return x[:, :, blocks.start * S : blocks.stop * S].unflatten(2, (-1, S))


class _Long(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, k_global, v_global, of_label, masks: BandMasks, dropout_p, seed):
        padded = _Padded(masks, q, k, v, k_global, v_global, of_label)
        dropout = Dropout(dropout_p, seed, q.device)
        out, lse = torch.empty_like(padded.q), torch.empty_like(padded.q[..., :1])
        for blocks in masks.chunks(q.shape[1]):
            chunk = _Chunk(masks, blocks, padded)
            top = chunk.top()
            weights = chunk.exponentials(top)
            total = weights[0].sum(-1, keepdim=True) + weights[1].sum(-1, keepdim=True)
            near, far = (dropped(x, dropout.factors(x)) for x in weights)
            weighted = near @ chunk.v + far @ chunk.v_global
            results = finished(total, top, weighted)
            for whole, part in zip((out, lse), results, strict=True):
                padded.rows(whole, blocks).copy_(part)
        ctx.save_for_backward(q, k, v, k_global, v_global, of_label, out, lse)
        ctx.masks, ctx.dropout = masks, (dropout_p, seed)
        return out[:, :, : q.shape[2]].to(q.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        *inputs, out, lse = ctx.saved_tensors
        masks, q = ctx.masks, inputs[0]
        padded = _Padded(masks, *inputs)
        dropout = Dropout(*ctx.dropout, q.device)
        grad = padded.whole(grad.to(out.dtype))
        of_inputs = [
            padded.q,
            padded.k,
            padded.v,
            padded.k_global,
            padded.v_global,
            padded.of_label,
        ]
        gradients = [torch.zeros_like(x) for x in of_inputs]
        for blocks in masks.chunks(q.shape[1]):
            chunk = _Chunk(masks, blocks, padded)
            of_rows = (padded.rows(x, blocks) for x in (grad, out, lse))
            parts = _differentiate(chunk, dropout, *of_rows)
            _collect(gradients, parts, padded, masks.band, blocks)
        dq, dk, dv, dk_global, dv_global, d_label = gradients
        L, r = q.shape[2], masks.band.radius
        dq = dq[:, :, :L] * q.shape[-1] ** -0.5
        dk, dv = dk[:, :, r : r + L], dv[:, :, r : r + L]
        of_global = (dk_global[:, :, 0], dv_global[:, :, 0])
        gradients = (dq, dk, dv, *of_global, d_label[:, :, :L])
        return *(x.to(y.dtype) for x, y in zip(gradients, inputs, strict=True)), None, None, None


def _differentiate(
    chunk: _Chunk, dropout: Dropout, grad: Tensor, out: Tensor, lse: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients of what a chunk reads: queries, long keys and values, global ones, labels."""
    near, far = chunk.exponentials(lse)
    factors = [dropout.factors(x) for x in (near, far)]
    dv = dropped(near, factors[0]).mT @ grad
    dv_global = dropped(far, factors[1]).mT @ grad
    delta = (grad * out).sum(-1, keepdim=True)
    of_near = dropped(grad @ chunk.v.mT, factors[0]).sub_(delta).mul_(near)
    of_far = dropped(grad @ chunk.v_global.mT, factors[1]).sub_(delta).mul_(far)
    dq = of_near @ chunk.k + of_far @ chunk.k_global
    d_label = chunk.band.label_gradient(of_near.contiguous(), chunk.of_label.shape[-1])
    d_label[..., -NUM_CROSS:] = cross_label_gradient(of_far, chunk.belongs)
    return dq, of_near.mT @ chunk.q, dv, of_far.mT @ chunk.q, dv_global, d_label


def _collect(
    gradients: list[Tensor], parts: tuple[Tensor, ...], padded: _Padded, band: Band, blocks: slice
) -> None:
    """Add the gradients of a chunk to those of the whole stream."""
    dq, dk, dv, dk_global, dv_global, d_label = gradients
    padded.rows(dq, blocks).copy_(parts[0])
    padded.rows(d_label, blocks).copy_(parts[5])
    for i, block in enumerate(range(blocks.start, blocks.stop)):
        keys = slice(block * band.block, block * band.block + band.width)
        dk[:, :, keys] += parts[1][:, :, i]
        dv[:, :, keys] += parts[2][:, :, i]
    dk_global += parts[3].sum(2, keepdim=True)
    dv_global += parts[4].sum(2, keepdim=True)
