"""Neighbouring tokens as one, so that the layers read a shorter sequence."""

# B batch, T tokens, U patches, S tokens of a patch, E hidden size

import torch.nn.functional as F
from torch import Tensor, nn


class Patches(nn.Module):
    """Joins `size` neighbouring tokens before the layers, and gives each its state afterwards.

    A patch has the maximum of its tokens, number by number: with a convolution in front of it,
    whether a pattern is anywhere in the patch. After the layers the state of a token is its own
    before them plus a linear map of its patch, one for each offset in a patch.

    Args:
        size: Tokens of a patch; a last one may have fewer.
    """

    def __init__(self, hidden_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.offsets = nn.Linear(hidden_size, size * hidden_size)

    def joined(self, x_BTE: Tensor, is_padding_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Return patches (batch, patches, hidden), and which consist of padding alone."""
        more = -x_BTE.shape[1] % self.size
        hidden_BUS = F.pad(is_padding_BT, (0, more), value=True).unflatten(1, (-1, self.size))
        x_BUSE = F.pad(x_BTE, (0, 0, 0, more)).unflatten(1, (-1, self.size))
        joined_BUE = x_BUSE.masked_fill(hidden_BUS[..., None], float("-inf")).amax(2)
        is_padding_BU = hidden_BUS.all(2)
        return joined_BUE.masked_fill(is_padding_BU[..., None], 0.0), is_padding_BU

    def any_of(self, marks_BT: Tensor) -> Tensor:
        """Return True for patches with a marked token, (batch, patches)."""
        more = -marks_BT.shape[1] % self.size
        return F.pad(marks_BT, (0, more)).unflatten(1, (-1, self.size)).any(2)

    def spread(self, patches_BUE: Tensor, x_BTE: Tensor) -> Tensor:
        """Return the states of the tokens: their own plus those of their patches."""
        offsets_BUSE = self.offsets(patches_BUE).unflatten(2, (self.size, -1))
        return x_BTE + offsets_BUSE.flatten(1, 2)[:, : x_BTE.shape[1]]
