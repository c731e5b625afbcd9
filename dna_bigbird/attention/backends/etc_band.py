"""The band of long queries in blocks: keys, masks and labels of a few blocks at a time.

A block of S queries reads the W = S + 2 radius long tokens round it. The key of column c and the
query of row i are at offset c - i - radius, so the offsets -radius … radius are a diagonal band of
the S x W scores. In memory that band is a plain (S, 2 radius + 1) view with a row stride of W + 1,
and in this view the label depends on the column alone: labels are added, and their gradients
summed, without an index.
"""

# B batch, H heads, L long tokens, G global tokens, D head dimension, T padded long tokens: N S
# N blocks of S queries, c blocks of a chunk, W keys of a block, V labels (offsets -k … k, outside, belongs)

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import PADDING_KEY, PADDING_QUERY, EtcLayout

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
