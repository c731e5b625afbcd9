"""A pattern as the Triton kernels read it: what each block reads, and who reads it."""

# H heads, N blocks, M blocks in all lists together

import functools

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.kernels.native.operator import block_lists
from dna_bigbird.attention.patterns import BlockPattern


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def two_way_lists(pattern: BlockPattern, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the lists of both directions, int32, on a device.

    The first of the two are the key blocks that each query block reads, the second are the query
    blocks that read each key block. A block that counts twice is listed twice in both.

    Returns:
        starts_2HN (2, H, N + 1): where the list of each block begins in `blocks`, and ends;
        blocks_2M: all lists, one after the other;
        order_2HN: the blocks, longest list first.
    """
    starts, blocks, order = (part.numpy() for part in block_lists(pattern))
    H, N = order.shape
    lengths = np.diff(starts, axis=1).ravel()
    key_of_slot = np.repeat(np.arange(H), lengths.reshape(H, N).sum(axis=1)) * N + blocks
    row_of_slot = np.repeat(np.arange(H * N) % N, lengths)
    readers = row_of_slot[np.argsort(key_of_slot, kind="stable")]
    counts = np.bincount(key_of_slot, minlength=H * N).reshape(H, N)
    ends = counts.cumsum().reshape(H, N)
    reader_starts = np.concatenate([ends[:, :1] - counts[:, :1], ends], axis=1)
    reader_order = np.argsort(-counts, axis=1, kind="stable")
    pairs = ((starts, reader_starts), (blocks, readers), (order, reader_order))
    return tuple(torch.from_numpy(np.stack(pair).astype(np.int32)).to(device) for pair in pairs)
