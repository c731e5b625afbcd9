"""Long queries of BigBird-ETC: one softmax over the band and the global tokens, block by block.

Time and memory are linear in the long stream: of the scores only those of a few blocks exist at a
time. The backward pass computes the weights again from the log-sum-exp.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.backends.softmax_parts import (
    LEAST,
    Dropout,
    dropped,
    exponentials,
    finished,
    hide,
    new_seed,
)
from dna_bigbird.attention.etc_heads import (
    EtcHeads,
    add_cross_labels,
    cross_label_gradient,
    label_scores,
    wide,
)
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import PADDING_KEY, PADDING_QUERY, EtcLayout

# The band of long queries in blocks: keys, masks and labels of a few blocks at a time.
#
# A block of S queries reads the W = S + 2 radius long tokens round it. The key of column c and the
# query of row i are at offset c - i - radius, so the offsets -radius … radius are a diagonal band of
# the S x W scores. In memory that band is a plain (S, 2 radius + 1) view with a row stride of W + 1,
# and in this view the label depends on the column alone: labels are added, and their gradients
# summed, without an index. For S = radius = 3, so W = 9, with = in the view:
#
#     = = = = = = = r r
#     l = = = = = = = r
#     l l = = = = = = =
#
# l is in the first S columns, below the diagonal of that square; r in the last S, above the diagonal. In mode
# 'exact' both are hidden; in mode 'three_blocks' they are read, as far left and as far right. Where the radius
# is below S / 2 the squares overlap, and a column has l and r.

# B batch, H heads, L long tokens, G global tokens, D head dimension, T padded long tokens: N S
# N blocks of S queries, c blocks of a chunk, W keys of a block, V labels (offsets -k … k, outside, belongs)


BLOCK = 64
"""Queries of a block in mode 'exact'; three blocks have `radius` of them."""
MOST_SCORES = {"cpu": 2**19, "cuda": 2**26}
"""Scores of a chunk: they should stay in the cache of a CPU, and occupy a GPU."""


@dataclass(frozen=True)
class Band:
    """Geometry of the blocks; `near` is how far labels differ, at most the radius."""

    block: int
    radius: int
    max_distance: int
    is_exact: bool

    @classmethod
    def of(cls, pattern: EtcPattern, block: int = BLOCK) -> "Band":
        """Return the geometry of a pattern, in mode 'exact' with blocks of any size."""
        is_exact = pattern.local_mode == "exact"
        size = block if is_exact else pattern.radius
        return cls(size, pattern.radius, pattern.max_distance, is_exact)

    @property
    def width(self) -> int:
        """Keys of a block."""
        return self.block + 2 * self.radius

    @functools.cached_property
    def near(self) -> int:
        """Distance up to which labels are added one by one."""
        return min(self.max_distance, self.radius)

    def diagonal(self, scores: Tensor) -> Tensor:
        """Return the view of contiguous scores (…, S, W) by row and offset: (…, S, 2 radius + 1)."""
        shape, stride = list(scores.shape), list(scores.stride())
        shape[-1], stride[-2] = 2 * self.radius + 1, self.width + 1
        return scores.as_strided(shape, stride, scores.storage_offset())

    def triangles(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the parts left and right of the diagonal view, each in a square (…, S, S)."""
        return scores[..., : self.block], scores[..., -self.block :]

    def parts(self, of_label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the labels (…, V) of the far left, of the near offsets, and of the far right."""
        k, m = self.max_distance, self.near
        return of_label[..., :1], of_label[..., k - m : k + m + 1], of_label[..., 2 * k : 2 * k + 1]

    def add_labels(self, scores: Tensor, of_label: Tensor) -> None:
        """Add the scores of labels (…, S, V) to the scores (…, S, W), in place."""
        far, middle = self.radius - self.near, 2 * self.near + 1
        left, near, right = self.parts(of_label)
        by_offset = self.diagonal(scores)
        by_offset[..., :far].add_(left)
        by_offset[..., far : far + middle].add_(near)
        by_offset[..., far + middle :].add_(right)
        if not self.is_exact:
            before, after = self.triangles(scores)
            before.addcmul_(left, self.lower(scores).to(scores.dtype))
            after.addcmul_(right, self.lower(scores).mT.to(scores.dtype))

    def label_gradient(self, of_scores: Tensor, num_labels: int) -> Tensor:
        """Return the gradient of `of_label` (…, S, V) from that of the scores."""
        far, middle = self.radius - self.near, 2 * self.near + 1
        by_offset = self.diagonal(of_scores)
        gradient = of_scores.new_zeros(*of_scores.shape[:-1], num_labels)
        left, near, right = self.parts(gradient)
        left.add_(by_offset[..., :far].sum(-1, keepdim=True))
        near.add_(by_offset[..., far : far + middle])
        right.add_(by_offset[..., far + middle :].sum(-1, keepdim=True))
        if not self.is_exact:
            before, after = self.triangles(of_scores)
            left.add_(before.tril(-1).sum(-1, keepdim=True))
            right.add_(after.triu(1).sum(-1, keepdim=True))
        return gradient

    def lower(self, like: Tensor) -> Tensor:
        """Return True below the diagonal: (S, S)."""
        return torch.ones(self.block, self.block, dtype=torch.bool, device=like.device).tril(-1)

    def inside(self, device: torch.device) -> Tensor:
        """Return which scores of a block are in the band: (S, W) bool."""
        inside = torch.ones(self.block, self.width, dtype=torch.bool, device=device)
        if self.is_exact:
            before, after = self.triangles(inside)
            # The squares overlap where the radius is small.
            before &= ~self.lower(inside)
            after &= ~self.lower(inside).mT
        return inside


class BandMasks:
    """Which scores of each chunk are visible, and which long tokens belong to which global ones."""

    def __init__(self, band: Band, pattern: EtcPattern, layout: EtcLayout) -> None:
        self.band, self.pattern, self.layout = band, pattern, layout
        queries, keys = layout.band_segments(pattern)
        L, S = layout.long_padding.shape[1], band.block
        missing = -L % S
        self.num_blocks = (L + missing) // S
        self._queries = F.pad(queries, (0, missing), value=PADDING_QUERY)
        self._keys = F.pad(keys, (band.radius, band.radius + missing), value=PADDING_KEY)
        self._inside = band.inside(queries.device)

    def chunks(self, num_heads: int) -> Iterator[slice]:
        """Yield the blocks, a few at a time."""
        B, G = self.layout.global_padding.shape
        of_block = B * num_heads * self.band.block * (self.band.width + G)
        most = MOST_SCORES.get(self._queries.device.type, MOST_SCORES["cuda"])
        step = max(1, most // of_block)
        for first in range(0, self.num_blocks, step):
            yield slice(first, min(first + step, self.num_blocks))

    def windows(self, x: Tensor, blocks: slice) -> Tensor:
        """Return what each block reads of (B, …, T + 2 radius, D): (B, …, c, W, D), not copied."""
        S, W = self.band.block, self.band.width
        stop = (blocks.stop - 1) * S + W
        return x[..., blocks.start * S : stop, :].unfold(-2, W, S).mT

    def visible_band(self, blocks: slice, dtype: torch.dtype) -> Tensor:
        """Return 1 for the scores of the band that are visible, else 0: (B, 1, c, S, W)."""
        S = self.band.block
        queries = self._queries[:, blocks.start * S : blocks.stop * S].unflatten(1, (-1, S))
        keys = self.windows(self._keys[..., None], blocks)[..., 0]
        visible = (queries[..., None] == keys[:, :, None]) & self._inside
        return visible[:, None].to(dtype)

    def of_global(self, blocks: slice, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return 1 for visible scores of global keys, and who belongs: (B, 1, c, S, G) both."""
        S = self.band.block
        rows = slice(blocks.start * S, blocks.stop * S)
        reads = self.layout.long_reads_global(self.pattern, rows)
        missing = rows.stop - rows.start - reads.shape[1]
        reads, belongs = (
            F.pad(x.to(dtype), (0, 0, 0, missing)).unflatten(1, (-1, S))[:, None]
            for x in (reads, self.layout.belongs[:, rows])
        )
        return reads, belongs


# B batch, H heads, L long tokens, T the same with padding: N blocks of S, G global tokens,
# c blocks of a chunk, W long keys of a block, D head dimension, V labels


NUM_CROSS = 2
"""Labels between the streams, the last ones of a row of label scores."""


def blocked_long(
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float = 0.0,
    block: int = BLOCK,
) -> Tensor:
    """Return the output of the long stream (B, H, L, D); in mode 'exact' by blocks of queries."""
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
