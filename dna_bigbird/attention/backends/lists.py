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
    """(H, R, M): what they read; a block that counts twice stands twice."""


class Lists(NamedTuple):
    """A pattern as lists of blocks, none with an empty place."""

    global_rows: Tensor
    """Rows that read every block once."""
    groups: list[Group]


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, whoever asks first
def lists(pattern: BlockPattern) -> Lists:
    """Return the lists of a pattern."""
    table = pattern.key_blocks
    is_global = pattern.is_global | _reads_each_once(table)
    widths = np.where(is_global, 0, (table[0] >= 0).sum(axis=1))
    groups = []
    for width in np.unique(widths[widths > 0]):
        rows = np.flatnonzero(widths == width)
        of_rows = table[:, rows]
        blocks = of_rows[of_rows >= 0].reshape(len(table), len(rows), width)
        groups.append(Group(torch.from_numpy(rows), torch.from_numpy(blocks)))
    return Lists(torch.from_numpy(np.flatnonzero(is_global)), groups)


def _reads_each_once(table: np.ndarray) -> np.ndarray:
    """Return which rows list every block once in all heads: global in all but name."""
    N, most = table.shape[1:]
    if most < N:
        return np.zeros(N, dtype=bool)
    in_order = np.sort(table, axis=2)
    rest, highest = in_order[..., : most - N], in_order[..., most - N :]
    return (rest < 0).all(axis=(0, 2)) & (highest == np.arange(N)).all(axis=(0, 2))
