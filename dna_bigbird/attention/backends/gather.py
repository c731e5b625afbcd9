"""Gather the key blocks of every query block, then one dense attention per query block."""

# B batch, H heads, T tokens, D head dimension, N blocks, S tokens in a block,
# R query blocks that read M key blocks each

import functools
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.backends.sdpa import lists, sdpa, whole_blocks
from dna_bigbird.attention.patterns import BlockPattern


class _Rows(NamedTuple):
    """Ordinary query blocks that read equally many key blocks in the head that reads most."""

    rows: Tensor  # (R)
    blocks: Tensor  # (H, R, M)
    unused: Tensor | None  # (H, R, M): slots of heads that read fewer, or None
    sources: Tensor  # (H R M): the blocks to read, counted through all heads
    readers: Tensor  # (H R M): the slots, ordered by the block that they read
    first_reader: Tensor  # (H N): where the readers of each block start


class _Plan(NamedTuple):
    global_rows: Tensor
    ordinary: list[_Rows]
    pieces: list[tuple[int, int, int]]  # (which of the results, start, stop), in block order


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def _plan(pattern: BlockPattern, device: torch.device) -> _Plan:
    """Turn a pattern into index tensors, once per pattern and device."""
    H, N, _ = pattern.key_blocks.shape
    of_pattern = lists(pattern)
    results: list[_Rows] = []
    piece_of_row = torch.zeros(N, 2, dtype=torch.long)
    global_rows = of_pattern.global_rows
    piece_of_row[global_rows, 1] = torch.arange(len(global_rows))
    for rows, blocks, unused in of_pattern.groups:
        sources = (blocks + N * torch.arange(H)[:, None, None]).flatten()
        counts = torch.bincount(sources, minlength=H * N)
        results.append(
            _Rows(
                rows.to(device),
                blocks.to(device),
                None if unused is None else unused.to(device),
                sources.to(device),
                sources.argsort(stable=True).to(device),
                (counts.cumsum(0) - counts).to(device),
            )
        )
        piece_of_row[rows] = torch.stack(
            [torch.full_like(rows, len(results)), torch.arange(len(rows))], dim=1
        )
    # The results are global rows (0), then groups by how much they read. Neighbours in the sequence that are
    # neighbours in a result are one piece, so a few slices restore the order. Without random blocks, N = 8:
    #
    #     block    0  1  2  3  4  5  6  7
    #     result   0  1  2  2  2  2  1  0      1: next to a global block, which its window has, too
    #     row      0  0  0  1  2  3  1  1      pieces (0, 0, 1) (1, 0, 1) (2, 0, 4) (1, 1, 2) (0, 1, 2)
    pieces: list[tuple[int, int, int]] = []
    for result, row in piece_of_row.tolist():
        if pieces and pieces[-1][0] == result and pieces[-1][2] == row:
            pieces[-1] = (result, pieces[-1][1], row + 1)
        else:
            pieces.append((result, row, row + 1))
    return _Plan(global_rows.to(device), results, pieces)


class _ReadBlocks(torch.autograd.Function):
    """Copy blocks to their readers; backward, each block sums over its readers."""

    # The table of readers is known, so the sum needs no atomic additions: it is faster than the backward
    # of indexing and the same in every run. Sums of bfloat16 are kept in float32.

    @staticmethod
    def forward(ctx, blocks: Tensor, sources: Tensor, readers: Tensor, first_reader: Tensor):
        ctx.save_for_backward(readers, first_reader)
        return F.embedding(sources, blocks)

    @staticmethod
    def backward(ctx, grad: Tensor):
        readers, first_reader = ctx.saved_tensors
        return F.embedding_bag(readers, grad, first_reader, mode="sum"), None, None, None


def _read(x_BHTD: Tensor, group: _Rows, S: int) -> Tensor:
    """Return the tokens that each query block reads: (B, H R, M S, D)."""
    B, H, T, D = x_BHTD.shape
    _, R, M = group.blocks.shape

    def for_batch(indices: Tensor, step: int) -> Tensor:
        starts = torch.arange(0, B * step, step, device=indices.device)
        return (starts[:, None] + indices).flatten()

    read = _ReadBlocks.apply(
        x_BHTD.reshape(B * H * (T // S), S * D),
        for_batch(group.sources, H * (T // S)),
        for_batch(group.readers, H * R * M),
        for_batch(group.first_reader, H * R * M),
    )
    return read.view(B, H * R, M * S, D)


def _hidden(hidden_BT: Tensor | None, group: _Rows, N: int, S: int) -> Tensor | None:
    """Return which of the tokens that `_read` gives are hidden: (B or 1, H R, 1, M S), or None."""
    H, R, M = group.blocks.shape
    unused = group.unused
    if hidden_BT is not None:
        hidden = hidden_BT.view(-1, N, S)[:, group.blocks]
        hidden = hidden if unused is None else hidden | unused[..., None]
    elif unused is not None:
        hidden = unused[None, ..., None].expand(1, H, R, M, S)
    else:
        return None
    return hidden.reshape(-1, H * R, 1, M * S)


def gather(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `gather`, O(length) in time and memory; see `attend` for the arguments."""
    if pattern.covers_everything:
        hidden = None if key_padding_mask_BT is None else key_padding_mask_BT[:, None, None, :]
        return sdpa(q_BHTD, k_BHTD, v_BHTD, hidden, dropout_p)
    S, N = pattern.block_size, pattern.num_blocks
    q, k, v, hidden_BT = whole_blocks(q_BHTD, k_BHTD, v_BHTD, key_padding_mask_BT, N * S)
    hidden_B11T = None if hidden_BT is None else hidden_BT[:, None, None, :]
    B, H, _, D = q.shape
    plan = _plan(pattern, q.device)
    q_BHNSD = q.reshape(B, H, N, S, D)
    global_q = q_BHNSD.index_select(2, plan.global_rows).reshape(B, H, -1, D)
    results = [global_q]
    if len(plan.global_rows):
        of_global = sdpa(global_q, k, v, hidden_B11T, dropout_p)
        results = [of_global.reshape(B, H, -1, S, D)]
    for group in plan.ordinary:
        R = len(group.rows)
        hidden = _hidden(hidden_BT, group, N, S)
        group_q = q_BHNSD.index_select(2, group.rows).reshape(B, H * R, S, D)
        out = sdpa(group_q, _read(k, group, S), _read(v, group, S), hidden, dropout_p)
        results.append(out.reshape(B, H, R, S, D))
    ordered = torch.cat([results[i][:, :, a:b] for i, a, b in plan.pieces], dim=2)
    return ordered.reshape(B, H, N * S, D)[:, :, : q_BHTD.shape[2]]
