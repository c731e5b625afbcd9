"""Cut the work of a pattern into chunks whose intermediates stay in the cache."""

# G heads at hand, C heads of a chunk, R its query blocks, N blocks, S tokens in a block,
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


def chunks(
    parts: Parts, first_head: int, num_heads: int, num_blocks: int, block_size: int
) -> Iterator[Chunk]:
    """Yield chunks that together hold every query block of some heads once.

    Args:
        first_head: Number of the first of these heads, counted through all sequences of a batch.
    """
    if len(parts.global_rows):
        yield Chunk(slice(0, num_heads), parts.global_rows, [Everything()])
    most_rows = max(1, MOST_TOKENS // block_size)
    for group in parts.groups:
        of_pattern = torch.arange(first_head, first_head + num_heads) % len(group.rest)
        heads_a_chunk = max(1, most_rows // len(group.rows))
        for first in range(0, num_heads, heads_a_chunk):
            heads = slice(first, min(first + heads_a_chunk, num_heads))
            rest = group.rest.index_select(0, of_pattern[heads])
            yield from _rows(group, rest, parts.shared, heads, num_blocks, most_rows)


def _rows(
    group: Group, rest: Tensor, shared: Tensor, heads: slice, num_blocks: int, most_rows: int
) -> Iterator[Chunk]:
    C, R, M = rest.shape
    consecutive = int(group.rows[-1] - group.rows[0]) == R - 1
    first_block = num_blocks * torch.arange(C)[:, None, None]
    for a in range(0, R, most_rows):
        n = min(most_rows, R - a)
        begin = int(group.rows[a])
        readers: list[Reader] = [Shared(shared)] if len(shared) else []
        if group.band is not None:
            readers.append(Band(begin + group.band[0], n, group.band[1]))
        if M:
            readers.append(Rest(rest[:, a : a + n] + first_block))
        yield Chunk(
            heads, slice(begin, begin + n) if consecutive else group.rows[a : a + n], readers
        )
