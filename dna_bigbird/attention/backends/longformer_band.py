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


# Relative positions in the scores of a band, without a matrix of queries times distances of the sequence.
#
# The score of a key has a second product, of the query and a vector of their distance (Dai et al. 2019,
# Transformer-XL, §3.3). In the scores of a block the keys of query s are columns s … s + R - 1, so those
# products are a matrix (S, R) whose rows are shifted by one: a view of the scores with rows longer by one.

# B sequences, H heads, T tokens, D head dimension, U heads of a unit, S queries of a block, W its keys,
# R keys of a window


class Positions(NamedTuple):
    """What distances add to scores: q · table[distance], scaled as the other product."""

    q: Tensor  # (B, H, T, D), the queries of this product
    table: Tensor  # (B, H, R, D), from `left` tokens before the query to `right` after it


class PositionScores:
    """The second product of some heads, and its gradients, block by block."""

    def __init__(self, band: Band, q_UTD: Tensor, table_URD: Tensor) -> None:
        self.band, self.q, self.table = band, q_UTD, table_URD
        self._of_q = self._of_table = None

    def add(self, scores_USW: Tensor, block: Block) -> None:
        """Add the products to the scores of a block, in place."""
        at = self._columns(block)
        whole = scores_USW if at is None else self._empty(scores_USW, block)
        self._shifted(whole).baddbmm_(self.q[:, block.rows], self.table.mT)
        if at is not None:
            scores_USW.add_(whole[..., at])

    def add_gradients(self, of_scores_USW: Tensor, block: Block) -> None:
        """Take the gradients of the scores of a block, which are zero outside of the band."""
        if self._of_q is None:
            self._of_q, self._of_table = torch.zeros_like(self.q), torch.zeros_like(self.table)
        at, whole = self._columns(block), of_scores_USW
        if at is not None:
            whole = self._empty(of_scores_USW, block)
            whole[..., at] = of_scores_USW
        of_products = self._shifted(whole)
        self._of_q[:, block.rows] = torch.bmm(of_products, self.table)
        self._of_table.baddbmm_(of_products.mT, self.q[:, block.rows])

    def gradients(self, scale: float) -> tuple[Tensor, Tensor]:
        """Return the gradients of the queries (U, T, D), times `scale`, and of the table (U, R, D)."""
        if self._of_q is None:  # no block has a query
            return torch.zeros_like(self.q), torch.zeros_like(self.table)
        return self._of_q.mul_(scale), self._of_table

    def _columns(self, block: Block) -> slice | None:
        """Return the columns that exist, of those of a block without ends; None if all do."""
        first = block.keys.start - (block.rows.start - self.band.left)
        stop = first + block.keys.stop - block.keys.start
        is_whole = first == 0 and block.keys.stop == block.rows.stop + self.band.right
        return None if is_whole else slice(first, stop)

    def _empty(self, like: Tensor, block: Block) -> Tensor:
        rows = block.rows.stop - block.rows.start
        return like.new_zeros(len(like), rows, self.band.left + rows + self.band.right)

    def _shifted(self, whole: Tensor) -> Tensor:
        """Return the view (U, S, R) in which column 0 of row s is column s."""
        U, S, W = whole.shape
        return whole.as_strided((U, S, self.table.shape[1]), (S * W, W + 1, 1))
