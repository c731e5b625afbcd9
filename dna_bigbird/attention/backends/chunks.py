"""Cut the work of a pattern into chunks whose intermediates stay in the cache."""

# G heads of all sequences, C heads of a chunk, R its query blocks, N blocks, S tokens in a block,
# M key blocks of the rest, D any last dimension

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.backends.parts import Group, Parts
from dna_bigbird.attention.backends.readers import Band, Everything, Reader, Rest, Shared

MOST_TOKENS = 2048
"""Queries of a chunk: with 192 keys each, 1.5 MB of scores in float32."""


class Chunk(NamedTuple):
    """Some rows of some heads: little enough for their intermediates to stay in the cache."""

    heads: slice
    """Of the heads of all sequences of the batch, counted through."""
    rows: Tensor | slice
    readers: list[Reader]

    @property
    def is_global(self) -> bool:
        """True if its queries read every key."""
        return isinstance(self.readers[0], Everything)

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


def chunks(parts: Parts, heads: slice, num_blocks: int, block_size: int) -> Iterator[Chunk]:
    """Yield chunks that together hold every query block of some heads once.

    Args:
        heads: Of the heads of all sequences of the batch, counted through.
    """
    if len(parts.global_rows):
        yield Chunk(heads, parts.global_rows, [Everything()])
    most_rows = max(1, MOST_TOKENS // block_size)
    for group in parts.groups:
        heads_a_chunk = max(1, most_rows // len(group.rows))
        for first in range(heads.start, heads.stop, heads_a_chunk):
            some = slice(first, min(first + heads_a_chunk, heads.stop))
            yield from _rows(group, parts.shared, some, num_blocks, most_rows)


def _rows(
    group: Group, shared: Tensor, heads: slice, num_blocks: int, most_rows: int
) -> Iterator[Chunk]:
    of_pattern, R, M = group.rest.shape
    consecutive = int(group.rows[-1] - group.rows[0]) == R - 1
    numbers = torch.arange(heads.start, heads.stop)
    for a in range(0, R, most_rows):
        n = min(most_rows, R - a)
        begin = int(group.rows[a])
        readers: list[Reader] = [Shared(shared)] if len(shared) else []
        if group.band is not None:
            readers.append(Band(begin + group.band[0], n, group.band[1]))
        if M:
            blocks = group.rest[:, a : a + n].index_select(0, numbers % of_pattern)
            readers.append(Rest(blocks + num_blocks * (numbers - heads.start)[:, None, None]))
        yield Chunk(
            heads, slice(begin, begin + n) if consecutive else group.rows[a : a + n], readers
        )
