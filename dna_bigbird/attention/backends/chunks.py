"""Cut the work of a pattern into chunks whose intermediates stay in the cache."""

# G heads, C heads of a chunk, R its query blocks, M key blocks that each of them reads,
# N blocks, S tokens in a block, D any last dimension
# X, Y: C and R, or 1 and C where all queries of a head read the same; L queries, K keys

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.backends.lists import Lists
from dna_bigbird.attention.backends.workspace import workspace


class Chunk(NamedTuple):
    """Some rows of some heads."""

    heads: slice
    rows: Tensor | slice
    blocks: Tensor | None
    """(C, R, M): what they read, numbered through the C heads; None if they read everything."""
    unused: Tensor | None
    """(C, R, M): True for blocks that are hidden (`lists.Group`); None if there are none."""

    def queries(self, x_GNSD: Tensor) -> Tensor:
        """Return what belongs to the rows: (X, Y, L, D)."""
        consecutive = isinstance(self.rows, slice)
        some = x_GNSD[self.heads]
        some = some[:, self.rows] if consecutive else some.index_select(1, self.rows)
        return some.flatten(1, 2)[None] if self.blocks is None else some

    def put(self, into_GNSD: Tensor, values: Tensor) -> None:
        """Write what belongs to the rows, in the shape that `queries` gives."""
        some = into_GNSD[self.heads]
        values = values.reshape(len(some), -1, *some.shape[2:])
        if isinstance(self.rows, slice):
            some[:, self.rows] = values
        else:
            some.index_copy_(1, self.rows, values)

    def keys(self, x_GNSD: Tensor, name: str) -> Tensor:
        """Return what the rows read: (X, Y, K, D), valid until this thread asks by that name again."""
        some = x_GNSD[self.heads]
        C, N, S, D = some.shape
        if self.blocks is None:
            return some.flatten(1, 2)[None]
        copied = workspace(name, (self.blocks.numel(), S * D), some.dtype)
        torch.index_select(some.view(C * N, S * D), 0, self.blocks.flatten(), out=copied)
        return copied.view(C, self.blocks.shape[1], -1, D)

    def give(self, total_GNSD: Tensor, grad: Tensor) -> None:
        """Add the gradient of what `keys` returned."""
        some = total_GNSD[self.heads]
        C, N, S, D = some.shape
        if self.blocks is None:
            some += grad.view(some.shape)
        else:
            grad = grad.reshape(-1, S * D)
            some.view(C * N, S * D).index_add_(0, self.blocks.flatten(), grad)


def chunks(
    of_pattern: Lists, first_head: int, num_heads: int, num_blocks: int, most_rows: int
) -> Iterator[Chunk]:
    """Yield chunks that together hold every query block of some heads once.

    Args:
        first_head: Number of the first of these heads, counted through all sequences of a batch.
        most_rows: Query blocks of a chunk, not counting those that read everything.
    """
    if len(of_pattern.global_rows):
        yield Chunk(slice(0, num_heads), of_pattern.global_rows, None, None)
    for group in of_pattern.groups:
        in_pattern = torch.arange(first_head, first_head + num_heads) % len(group.blocks)
        heads_a_chunk = max(1, most_rows // len(group.rows))
        for first in range(0, num_heads, heads_a_chunk):
            heads = slice(first, min(first + heads_a_chunk, num_heads))
            blocks = group.blocks.index_select(0, in_pattern[heads])
            blocks += num_blocks * torch.arange(len(blocks))[:, None, None]
            unused = None
            if group.unused is not None:
                unused = group.unused.index_select(0, in_pattern[heads])
            yield from _rows(group.rows, blocks, unused, heads, most_rows)


def _rows(
    all_rows: Tensor, blocks: Tensor, unused: Tensor | None, heads: slice, most_rows: int
) -> Iterator[Chunk]:
    for start in range(0, len(all_rows), most_rows):
        part = slice(start, start + most_rows)
        rows = all_rows[part]
        first, last = int(rows[0]), int(rows[-1])
        consecutive = last - first + 1 == len(rows)
        hidden = None if unused is None or not unused[:, part].any() else unused[:, part]
        yield Chunk(heads, slice(first, last + 1) if consecutive else rows, blocks[:, part], hidden)
