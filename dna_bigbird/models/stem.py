"""A convolution over the embeddings, so that the first layer sees a token with its neighbours."""

# B sequences, T tokens, P packed tokens, E hidden size, W width

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.packing import Packing

NOWHERE = -(2**40)
"""Stands for the position of what is outside of the packed row."""


class Stem(nn.Module):
    """x + convolution(x), `width` tokens wide, zero beyond the ends and at padding.

    It reads no token of another sequence of a packed batch, so a sequence has the same result alone
    and next to others.

    Args:
        width: Odd; tokens that one token reads, itself in the middle.
    """

    def __init__(self, hidden_size: int, width: int) -> None:
        super().__init__()
        self.width = width
        # As a matrix product: one kernel for every device, and deterministic.
        self.convolution = nn.Linear(width * hidden_size, hidden_size)

    def forward(self, x_PE: Tensor, packing: Packing) -> Tensor:
        """Return the sum of embeddings and convolution, (packed tokens, hidden)."""
        return x_PE + self.convolution(self._neighbours(x_PE, packing))

    def _neighbours(self, x_PE: Tensor, packing: Packing) -> Tensor:
        """Return the tokens around each token, first to last: (P, W * E)."""
        if packing.is_padding_P is not None:
            x_PE = x_PE.masked_fill(packing.is_padding_P[:, None], 0.0)
        P, side = len(x_PE), self.width // 2
        wide_UE = F.pad(x_PE, (0, 0, side, side))
        positions_U = F.pad(packing.positions_P, (side, side), value=NOWHERE)
        shifted, is_other = [], []
        for shift in range(self.width):
            shifted.append(wide_UE[shift : shift + P])
            expected_P = packing.positions_P + (shift - side)
            is_other.append(positions_U[shift : shift + P] != expected_P)
        columns_PWE = torch.stack(shifted, dim=1)
        # Beyond the ends of a sequence is another one of the packed row.
        is_other_PW = torch.stack(is_other, dim=1)
        return columns_PWE.masked_fill(is_other_PW[..., None], 0.0).flatten(1)
