"""A pattern as the integer tables of FlexAttention."""

# H heads, N blocks

import functools
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.patterns import BlockPattern

KEY_PLACES = 16
READER_PLACES = 32


class Lists(NamedTuple):
    """What each line (query block, or key block) of each head reads, or is read by.

    A line is stored in one of two ways, so that all takes O(blocks) integers: those that list
    everything share one list, the others have a short one each. The order is that of `BlockMask`.
    """

    num_all: Tensor
    """(1, H, N): the number of blocks for a line that lists everything, else 0."""
    all: Tensor
    """(1, H, N, N): 0 … N - 1 for every line, in N integers."""
    num: Tensor
    """(1, H, N): how many blocks each of the other lines lists."""
    listed: Tensor
    """(1, H, N, most): which, ascending. On the CPU (1, H, N, N), in hardly more integers."""


class Tables(NamedTuple):
    """What a kernel must know of a pattern."""

    keys: Lists
    """The key blocks of each query block."""
    queries: Lists | None
    """The query blocks of each key block, for the backward pass."""
    repeats: tuple[Tensor, Tensor] | None
    """(repeats of a row × H, N): key blocks counted more than once or -1; logs of how often."""


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def tables(pattern: BlockPattern, device: torch.device, backward: bool) -> Tables:
    """Turn a pattern into tables, once per pattern and device."""
    distinct, counts = _distinct(pattern.key_blocks)
    head, row, slot = np.nonzero(distinct >= 0)
    column = distinct[head, row, slot]
    whole_rows = np.broadcast_to(pattern.is_global, distinct.shape[:2])
    keys = _lists(head, row, column, whole_rows, KEY_PLACES, device)
    queries = _readers(head, row, column, pattern, device) if backward else None
    return Tables(keys, queries, _repeats(distinct, counts, device))


def _distinct(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's different blocks, ascending, -1 elsewhere, and how often each occurs."""
    ordered = np.sort(np.where(table < 0, table.shape[1], table), axis=2)
    first = np.diff(ordered, axis=2, prepend=-1) > 0
    run = first.cumsum(axis=2) - 1
    length = np.zeros(table.shape, dtype=np.int64)
    np.add.at(length, (*np.indices(table.shape)[:2], run), 1)
    listed = first & (ordered < table.shape[1])
    counts = np.where(listed, np.take_along_axis(length, run, axis=2), 0)
    return np.where(listed, ordered, -1), counts


def _readers(
    head: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    pattern: BlockPattern,
    device: torch.device,
) -> Lists:
    """Transpose: which query blocks read each key block, the global ones included."""
    global_rows = np.flatnonzero(pattern.is_global)
    num_readers = np.zeros((pattern.num_heads, pattern.num_blocks), dtype=np.int64)
    np.add.at(num_readers, (head, column), 1)
    whole = num_readers + len(global_rows) == pattern.num_blocks
    few = ~whole[head, column]
    few_head, few_column = np.nonzero(~whole)
    return _lists(
        np.concatenate([head[few], few_head.repeat(len(global_rows))]),
        np.concatenate([column[few], few_column.repeat(len(global_rows))]),
        np.concatenate([row[few], np.tile(global_rows, len(few_column))]),
        whole,
        READER_PLACES,
        device,
    )


def _lists(
    head: np.ndarray,
    line: np.ndarray,
    other: np.ndarray,
    whole: np.ndarray,
    divisor: int,
    device: torch.device,
) -> Lists:
    """Build the lists of (head, line, other); `whole` (H, N) marks lines that list everything.

    torch.compile makes a kernel of its own for a size of 1 and for each overlapping stride, so
    there are at least two lines, and `divisor` in each or a multiple. Lists are ascending: a kernel
    that stops after as many tokens as there are must have met the ragged block last.
    """
    heads, blocks = whole.shape
    lines = max(blocks, 2)
    flat = head * lines + line
    order = np.lexsort((other, flat))
    num = np.bincount(flat, minlength=heads * lines)
    rank = np.arange(len(flat)) - (num.cumsum() - num)[flat[order]]
    most = divisor * max(-(-int(num.max(initial=0)) // divisor), 1)
    # The CPU kernel wants a width of all blocks, though it reads only what is listed: an
    # overlapping view costs nothing. The tail keeps its last row inside the storage.
    listed = np.zeros(heads * lines * most + lines, dtype=np.int32)
    listed[flat[order] * most + rank] = other[order]
    width = lines if device.type == "cpu" else most
    num_all = np.zeros((1, heads, lines), dtype=np.int32)
    num_all[0, :, :blocks] = np.where(whole, blocks, 0)
    lists = (
        torch.from_numpy(num_all).to(device),
        torch.arange(lines, dtype=torch.int32, device=device).expand(1, heads, lines, lines),
        torch.from_numpy(num.astype(np.int32).reshape(1, heads, lines)).to(device),
        torch.from_numpy(listed)
        .to(device)
        .as_strided((1, heads, lines, width), (heads * lines * most, lines * most, most, 1)),
    )
    fixed = [(0, 1)] * 3 + [(0, 1) if device.type == "cpu" else (0, 1, 3)]
    return Lists(*map(_fix, lists, fixed))


def _repeats(
    distinct: np.ndarray, counts: np.ndarray, device: torch.device
) -> tuple[Tensor, Tensor] | None:
    """Return the blocks that a row counts more than once: usually none, or one per row."""
    heads, blocks, _ = distinct.shape
    again = counts > 1
    most = int(again.sum(axis=2).max(initial=0))
    if not most:
        return None
    head, row, slot = np.nonzero(again)
    number = again.cumsum(axis=2)[head, row, slot] - 1
    line = number * heads + head
    block = np.full((most * heads, max(blocks, 2)), -1, dtype=np.int32)
    log_times = np.zeros(block.shape, dtype=np.float32)
    block[line, row] = distinct[head, row, slot]
    log_times[line, row] = np.log(counts[head, row, slot])
    block, log_times = (_fix(torch.from_numpy(x).to(device), (0,)) for x in (block, log_times))
    return block, log_times


def _fix(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Tell torch.compile which sizes never change, or it takes 12 heads and 12 blocks for one."""
    torch._dynamo.mark_static(x, sizes)
    return x
