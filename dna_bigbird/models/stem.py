"""A convolution over the embeddings, so that the first layer sees a token with its neighbours."""

# B sequences, T tokens, P packed tokens, E hidden size, W width

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.cores import Groups


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

    def forward(self, x_PE: Tensor, groups: Groups) -> Tensor:
        """Return the sum of embeddings and convolution, (packed tokens, hidden)."""
        sizes = [group.num_sequences * group.num_tokens for group in groups]
        parts = [
            self._neighbours(part.view(group.num_sequences, group.num_tokens, -1), group.is_padding)
            for part, group in zip(x_PE.split(sizes), groups, strict=True)
        ]
        return x_PE + self.convolution(parts[0] if len(parts) == 1 else torch.cat(parts))

    def _neighbours(self, x_BTE: Tensor, is_padding_BT: Tensor | None) -> Tensor:
        """Return the tokens around each token, first to last: (B * T, W * E)."""
        if is_padding_BT is not None:
            x_BTE = x_BTE.masked_fill(is_padding_BT[..., None], 0.0)
        T, side = x_BTE.shape[1], self.width // 2
        wide_BUE = F.pad(x_BTE, (0, 0, side, side))
        shifted = [wide_BUE[:, shift : shift + T] for shift in range(self.width)]
        return torch.cat(shifted, dim=-1).flatten(0, 1)
