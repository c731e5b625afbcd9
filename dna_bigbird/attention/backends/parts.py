"""Split a pattern into parts that need few copies or none: global rows, shared keys, a band, a rest."""

# H heads, N blocks, R query blocks, M key blocks

import functools
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.patterns import BlockPattern


class Group(NamedTuple):
    """Ordinary query blocks that are computed together."""

    rows: Tensor
    """(R), ascending."""
    band: tuple[int, int] | None
    """Row i reads blocks i + first … i + first + width - 1, given as (first, width). The rows of a
    group with a band are consecutive, so their keys are one overlapping view of the sequence."""
    rest: Tensor
    """(H, R, M): blocks that must be copied together; M may be 0."""


class Parts(NamedTuple):
    """A pattern as a sum of parts; each (row, key block) pair stands in one part per count."""

    global_rows: Tensor
    """Rows that read every block once."""
    shared: Tensor
    """Blocks that every ordinary row reads in every head, beside its band and its rest."""
    groups: list[Group]


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, whoever asks first
def split(pattern: BlockPattern) -> Parts:
    """Split a pattern; O(blocks)."""
    is_global = pattern.is_global | _reads_each_once(pattern.key_blocks)
    ordinary = np.flatnonzero(~is_global)
    table = pattern.key_blocks[:, ordinary].copy()
    global_rows = torch.from_numpy(np.flatnonzero(is_global))
    if not len(ordinary):
        return Parts(global_rows, torch.zeros(0, dtype=torch.long), [])
    shared = [c for c in np.unique(table[0, 0]) if c >= 0 and _reads(table, c).all()]
    for block in shared:
        _take(table, np.full(len(ordinary), block))
    groups = []
    first, width, start, stop = _band(table, ordinary)
    if width:
        rows, rest = ordinary[start:stop], table[:, start:stop]
        for offset in range(first, first + width):
            _take(rest, rows + offset)
        groups += _by_width(rows, rest, (first, width))
    outside = np.r_[0:start, stop : len(ordinary)]
    groups += _by_width(ordinary[outside], table[:, outside], None)
    return Parts(global_rows, torch.tensor(shared, dtype=torch.long), groups)


def _reads_each_once(table: np.ndarray) -> np.ndarray:
    """Return which rows list every block once in all heads: global in all but name."""
    N, most = table.shape[1:]
    if most < N:
        return np.zeros(N, dtype=bool)
    return (np.sort(table, axis=2)[..., most - N :] == np.arange(N)).all(axis=(0, 2)) & (
        (table[0] >= 0).sum(axis=1) == N
    )


def _reads(table: np.ndarray, blocks: int | np.ndarray) -> np.ndarray:
    """Return which rows read their block in all heads: (R)."""
    wanted = np.broadcast_to(blocks, table.shape[1])[None, :, None]
    return ((table == wanted) & (wanted >= 0)).any(axis=2).all(axis=0)


def _take(table: np.ndarray, blocks: np.ndarray) -> None:
    """Strike out one mention of each row's block in every head."""
    place = (table == blocks[None, :, None]).argmax(axis=2)
    np.put_along_axis(table, place[..., None], -1, axis=2)


def _band(table: np.ndarray, rows: np.ndarray) -> tuple[int, int, int, int]:
    """Find the diagonals that at least half of the rows read: (first, width, start, stop).

    `start` and `stop` count within `rows`: the longest stretch of consecutive rows that read the
    whole band. The width is 0 if there is none.
    """
    nothing = (0, 0, 0, 0)
    most = table.shape[2]

    def common(offset: int) -> bool:
        return _reads(table, rows + offset).mean() >= 0.5

    if not common(0):
        return nothing
    first = last = 0
    while last - first < most and common(first - 1):
        first -= 1
    while last - first < most and common(last + 1):
        last += 1
    inside = np.ones(len(rows), dtype=bool)
    for offset in range(first, last + 1):
        inside &= _reads(table, rows + offset)
    # A gap in the rows (a global one) or a row without the band ends a stretch.
    ends = np.flatnonzero(~inside[:-1] | ~inside[1:] | (np.diff(rows) > 1)) + 1
    stretches = [(a, b) for a, b in zip([0, *ends], [*ends, len(rows)], strict=True) if inside[a]]
    if not stretches:
        return nothing
    start, stop = max(stretches, key=lambda s: s[1] - s[0])
    return first, last - first + 1, int(start), int(stop)


def _by_width(rows: np.ndarray, table: np.ndarray, band: tuple[int, int] | None) -> list[Group]:
    """Group rows that have equally many blocks left; with a band they must stay consecutive."""
    heads = table.shape[0]
    widths = (table[0] >= 0).sum(axis=1)
    if band is not None:
        cuts = np.flatnonzero(np.diff(widths)) + 1
        chosen = np.split(np.arange(len(rows)), cuts)
    else:
        chosen = [np.flatnonzero(widths == width) for width in np.unique(widths)]
    groups = []
    for members in chosen:
        left = table[:, members]
        rest = left[left >= 0].reshape(heads, len(members), -1)
        groups.append(Group(torch.from_numpy(rows[members]), band, torch.from_numpy(rest)))
    return groups
