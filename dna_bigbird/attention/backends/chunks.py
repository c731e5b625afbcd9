"""Cut the work of a pattern into chunks whose intermediates stay in the cache."""

# G heads of all sequences, C heads of a chunk, R its query blocks, N blocks, S tokens in a block,
# M key blocks of the rest, D any last dimension

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.backends.parts import Group, Parts
from dna_bigbird.attention.backends.readers import Band, Everything, Reader, Rest, Shared

MOST_ROWS = 64
"""Query blocks of a chunk. With 64 tokens a block, 3 MB of scores a part in float32."""


class Chunk(NamedTuple):
    """Some rows of some heads: little enough for their intermediates to stay in the cache."""

    heads: slice
    """Of the heads of all sequences of the batch, counted through."""
    rows: Tensor | slice
    readers: list[Reader]

    def take(self, x_GNSD: Tensor) -> Tensor:
        """Return the chunk's rows: (C, R, S, D); a view if they are consecutive."""
        if isinstance(self.rows, slice):
            return x_GNSD[self.heads, self.rows]
        return x_GNSD[self.heads].index_select(1, self.rows)

    def put(self, into_GNSD: Tensor, values_CRSD: Tensor) -> None:
        """Write the chunk's rows."""
        if isinstance(self.rows, slice):
            into_GNSD[self.heads, self.rows] = values_CRSD
        else:
            into_GNSD[self.heads].index_copy_(1, self.rows, values_CRSD)


def chunks(parts: Parts, num_heads: int, num_blocks: int) -> Iterator[Chunk]:
    """Yield chunks that together hold every query block of every head once.

    Args:
        num_heads: Heads of all sequences of the batch.
    """
    if len(parts.global_rows):
        yield Chunk(slice(0, num_heads), parts.global_rows, [Everything()])
    for group in parts.groups:
        yield from _of_group(group, parts.shared, num_heads, num_blocks)


def _of_group(group: Group, shared: Tensor, num_heads: int, num_blocks: int) -> Iterator[Chunk]:
    of_pattern, R, M = group.rest.shape
    consecutive = int(group.rows[-1] - group.rows[0]) == R - 1
    rows_a_chunk = min(R, MOST_ROWS)
    heads_a_chunk = MOST_ROWS // rows_a_chunk
    for first in range(0, num_heads, heads_a_chunk):
        heads = slice(first, min(first + heads_a_chunk, num_heads))
        numbers = torch.arange(first, heads.stop)
        for a in range(0, R, rows_a_chunk):
            n = min(rows_a_chunk, R - a)
            begin = int(group.rows[a])
            readers: list[Reader] = [Shared(shared)] if len(shared) else []
            if group.band is not None:
                readers.append(Band(begin + group.band[0], n, group.band[1]))
            if M:
                blocks = group.rest[:, a : a + n].index_select(0, numbers % of_pattern)
                offsets = num_blocks * (numbers - first)[:, None, None]
                readers.append(Rest(blocks + offsets))
            rows = slice(begin, begin + n) if consecutive else group.rows[a : a + n]
            yield Chunk(heads, rows, readers)
