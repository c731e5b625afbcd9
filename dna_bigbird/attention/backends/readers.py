"""How the parts of a pattern take their keys from a sequence, and give gradients back."""

# C heads (of any sequences of the batch), N blocks, R query blocks, S tokens in a block,
# M key blocks a reader takes, D any last dimension

from typing import NamedTuple

from torch import Tensor


class Everything(NamedTuple):
    """All keys for all queries: of global rows."""

    one_list: bool = True
    """Whether all queries of a head read one list of keys, or each row its own."""

    def take(self, x_CNSD: Tensor) -> Tensor:
        """Return the keys, one list a head, as a view: (1, C, N S, D)."""
        return x_CNSD.flatten(1, 2)[None]

    def give(self, total_CNSD: Tensor, grad: Tensor) -> None:
        """Add the gradient of what `take` returned."""
        total_CNSD += grad.view(total_CNSD.shape)


class Shared(NamedTuple):
    """The same blocks for all queries: (M)."""

    blocks: Tensor
    one_list: bool = True

    def take(self, x_CNSD: Tensor) -> Tensor:
        """Return the keys, one list a head: (1, C, M S, D)."""
        return x_CNSD.index_select(1, self.blocks).flatten(1, 2)[None]

    def give(self, total_CNSD: Tensor, grad: Tensor) -> None:
        """Add the gradient of what `take` returned."""
        C, _, S, D = total_CNSD.shape
        total_CNSD.index_add_(1, self.blocks, grad.reshape(C, -1, S, D))


class Band(NamedTuple):
    """Consecutive blocks for consecutive rows: row j takes start + j … start + j + width - 1."""

    start: int
    num_rows: int
    width: int
    one_list: bool = False

    def take(self, x_CNSD: Tensor) -> Tensor:
        """Return the keys of each row as an overlapping view: (C, R, M S, D)."""
        C, N, S, D = x_CNSD.shape
        return x_CNSD.as_strided(
            (C, self.num_rows, self.width * S, D),
            (N * S * D, S * D, D, 1),
            x_CNSD.storage_offset() + self.start * S * D,
        )

    def give(self, total_CNSD: Tensor, grad: Tensor) -> None:
        """Add the gradient of what `take` returned."""
        C, _, S, D = total_CNSD.shape
        grad = grad.view(C, self.num_rows, self.width, S, D)
        for j in range(self.width):
            total_CNSD[:, self.start + j : self.start + j + self.num_rows] += grad[:, :, j]


class Rest(NamedTuple):
    """Blocks anywhere, copied together: (C, R, M), numbered through the C heads."""

    blocks: Tensor
    one_list: bool = False

    def take(self, x_CNSD: Tensor) -> Tensor:
        """Return the keys of each row: (C, R, M S, D)."""
        C, N, S, D = x_CNSD.shape
        taken = x_CNSD.view(C * N, S * D).index_select(0, self.blocks.flatten())
        return taken.view(C, self.blocks.shape[1], -1, D)

    def give(self, total_CNSD: Tensor, grad: Tensor) -> None:
        """Add the gradient of what `take` returned."""
        C, N, S, D = total_CNSD.shape
        grad = grad.reshape(-1, S * D)
        total_CNSD.view(C * N, S * D).index_add_(0, self.blocks.flatten(), grad)


Reader = Everything | Shared | Band | Rest
