"""Group the rows of a pattern that read equally many blocks."""

# H heads, N blocks, R query blocks, M key blocks

import functools
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.patterns import BlockPattern


class Group(NamedTuple):
    """Query blocks that read equally many key blocks."""

    rows: Tensor
    """(R), ascending."""
    blocks: Tensor
    """(H, R, M): what they read; a block that counts twice is listed twice."""
    unused: Tensor | None
    """(H, R, M), True where a head reads fewer blocks than another; None if all read M. Such a
    place repeats a block that the head reads, and is hidden."""


class Lists(NamedTuple):
    """A pattern as lists of blocks."""

    global_rows: Tensor
    """Rows that read every block once."""
    groups: list[Group]


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def lists(pattern: BlockPattern) -> Lists:
    """Return the lists of a pattern."""
    table = pattern.key_blocks
    is_global = pattern.is_global | _reads_each_once(table)
    read = (table >= 0).sum(axis=2)
    widths = np.where(is_global, 0, read.max(axis=0))
    groups = []
    for width in np.unique(widths[widths > 0]):
        rows = np.flatnonzero(widths == width)
        in_order = np.argsort(table[:, rows] < 0, axis=2, kind="stable")[..., :width]
        blocks = np.take_along_axis(table[:, rows], in_order, axis=2)
        unused = blocks < 0
        blocks = np.where(unused, blocks[..., :1], blocks)
        groups.append(
            Group(
                torch.from_numpy(rows),
                torch.from_numpy(blocks),
                torch.from_numpy(unused) if unused.any() else None,
            )
        )
    return Lists(torch.from_numpy(np.flatnonzero(is_global)), groups)


def _reads_each_once(table: np.ndarray) -> np.ndarray:
    """Return which rows list every block once in all heads: global in all but name."""
    N, most = table.shape[1:]
    if most < N:
        return np.zeros(N, dtype=bool)
    in_order = np.sort(table, axis=2)
    rest, highest = in_order[..., : most - N], in_order[..., most - N :]
    return (rest < 0).all(axis=(0, 2)) & (highest == np.arange(N)).all(axis=(0, 2))
