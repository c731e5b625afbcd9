"""The band of a window in blocks: which keys a block of queries reads, and its two corners.

A block of S queries reads its own keys and those up to `left` before and `right` after it, cut at the
ends of the sequence. Of its scores all but two corners are in the band: in the first S columns those
below a diagonal are too far to the left, in the last S columns those above one too far to the right.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.backends.softmax_parts import HIDDEN, LOWEST_EXPONENT

# B sequences, T tokens, G global keys


MOST_SCORES = {"cpu": 2**18, "cuda": 2**26}
"""Scores of a unit: a megabyte stays in the cache of a CPU; a GPU should be occupied."""
BLOCKS = (256, 128, 64)
"""Queries of a block, as many as the scores allow: larger ones compute more outside of the band."""


class Windows(NamedTuple):
    """Who reads whom, of sequences whose windows have no dilation."""

    no_window: Tensor  # (B, T) bool: in no window, and has none
    first_readers: Tensor  # (B, G): the first token that reads a global key; T in unused entries
    left: int
    right: int


class Cut(NamedTuple):
    """How the work is cut; the result does not depend on it, but the masks of dropout do."""

    unit: int
    block: int

    @classmethod
    def of(cls, q: Tensor, windows: Windows) -> "Cut":
        """Return the cut that a device computes well."""
        heads, T = q.shape[0] * q.shape[1], q.shape[2]
        most = MOST_SCORES.get(q.device.type, MOST_SCORES["cuda"])
        keys = min(windows.left + windows.right, T) + windows.first_readers.shape[1]
        threads = torch.get_num_threads() if q.device.type == "cpu" else 1
        unit = min(math.ceil(heads / threads), max(1, most // (BLOCKS[-1] * (BLOCKS[-1] + keys))))
        unit = math.ceil(heads / math.ceil(heads / unit))
        block = next((b for b in BLOCKS if unit * b * (b + keys) <= most), BLOCKS[-1])
        return cls(unit, block)


# S queries of a block, W its keys; … stands for any dimensions


class Block(NamedTuple):
    """Neighbouring queries and the keys that at least one of them reads."""

    rows: slice
    keys: slice


class Band(NamedTuple):
    """Geometry of the blocks of a sequence."""

    num_tokens: int
    left: int
    right: int
    block: int

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks from left to right; together they have every query once."""
        for start in range(0, self.num_tokens, self.block):
            stop = min(start + self.block, self.num_tokens)
            first, last = max(0, start - self.left), min(self.num_tokens, stop + self.right)
            yield Block(slice(start, stop), slice(first, last))


class Corners:
    """Masks of the scores of a block that are outside of the band."""

    def __init__(self, band: Band, dtype: torch.dtype, device: torch.device) -> None:
        self.band = band
        square = torch.ones(band.block, band.block, dtype=dtype, device=device)
        inside = square.triu(), square.tril(-1)
        self._masks = [(part, (1 - part) * HIDDEN) for part in inside]

    def hide(self, scores: Tensor, block: Block) -> None:
        """Make the scores (…, S, W) outside of the band about -1e30, in place."""
        for part, _, added in self._parts(scores, block):
            part.add_(added)

    def clamp(self, scores: Tensor, block: Block) -> None:
        """Raise the exponents outside of the band to the lowest one that exp computes fast."""
        for part, _, _ in self._parts(scores, block):
            part.clamp_(min=LOWEST_EXPONENT)

    def clear(self, weights: Tensor, block: Block) -> None:
        """Set the weights outside of the band to zero, in place."""
        for part, inside, _ in self._parts(weights, block):
            part.mul_(inside)

    def _parts(self, scores: Tensor, block: Block) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield the corners, with 1 for scores in the band, and with -1e30 for those outside."""
        rows = block.rows.stop - block.rows.start
        (before, before_hidden), (after, after_hidden) = self._masks
        # At the left end of the sequence `cut` keys of the window are missing, and with them the first columns of
        # the corner; the right corner lacks its last columns at the right end.
        cut = block.keys.start - (block.rows.start - self.band.left)
        if rows - 1 > cut:
            at = slice(rows), slice(cut, rows - 1)
            yield scores[..., : rows - 1 - cut], before[at], before_hidden[at]
        width = block.keys.stop - (block.rows.start + self.band.right + 1)
        if width > 0:
            at = slice(rows), slice(width)
            yield scores[..., -width:], after[at], after_hidden[at]
