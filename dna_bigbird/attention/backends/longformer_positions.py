"""Relative positions in the scores of a band, without a matrix of queries times distances of the sequence.

The score of a key has a second product, of the query and a vector of their distance (Dai et al. 2019,
Transformer-XL, §3.3). In the scores of a block the keys of query s are columns s … s + R - 1, so those
products are a matrix (S, R) whose rows are shifted by one: a view of the scores with rows longer by one.
"""

# B sequences, H heads, T tokens, D head dimension, U heads of a unit, S queries of a block, W its keys,
# R keys of a window

from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.backends.longformer_band import Band, Block


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
