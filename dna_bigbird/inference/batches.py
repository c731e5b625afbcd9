"""Batches of sequences of similar length, within a budget of tokens."""

# B batch, T tokens
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.models.config import EncoderConfig

CPU_NUMBERS = 1 << 20
"""Size of the hidden states of a batch on a CPU: 8,192 tokens of 128 numbers, 1,365 of 768. Larger
batches are not faster there and take more memory."""
GPU_TOKENS = (8192, 262_144)
"""Least and most tokens of a batch on a GPU."""
GPU_SHARE = 0.5
"""Part of the free memory of a GPU that a batch may fill by the estimate of `bytes_per_token`."""
CHUNK_BATCHES = 8
"""Number of batches whose sequences are read and sorted by length together."""

Item = TypeVar("Item")


def chunks_of(
    items: Iterable[Item], size: Callable[[Item], int], most: int
) -> Iterator[list[Item]]:
    """Yield consecutive items in lists whose sizes add up to `most`; the last item may exceed it.

    Example:
        >>> list(chunks_of(["AAA", "C", "GGGG", "T"], len, 4))
        [['AAA', 'C'], ['GGGG'], ['T']]
    """
    chunk: list[Item] = []
    total = 0
    for item in items:
        chunk.append(item)
        total += size(item)
        if total >= most:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def token_budget(config: EncoderConfig, device: torch.device) -> int:
    """Return the number of tokens for one batch on this device, [CLS] and [SEP] included."""
    if device.type != "cuda":
        return max(CPU_NUMBERS // config.hidden_size, 1)
    free, _ = torch.cuda.mem_get_info(device)
    least, most = GPU_TOKENS
    return int(min(max(GPU_SHARE * free / bytes_per_token(config), least), most))


def bytes_per_token(config: EncoderConfig) -> int:
    """Estimate the bytes per token of one layer, in float32, with gathered keys."""
    keys = config.window_blocks + config.num_random + 2
    return 4 * (2 * config.ffn_size + (2 * keys + 8) * config.hidden_size)


def batches_of(
    lengths: Sequence[int], *, tokens: int, batch_size: int = 0, same_blocks: int = 0
) -> list[list[int]]:
    """Put sequences of similar length into one batch.

    Args:
        lengths: Tokens of each sequence.
        tokens: Most tokens of a batch; a longer sequence is a batch of its own.
        batch_size: Sequences in a batch, of any length; 0 lets `tokens` decide.
        same_blocks: Block size, if sequences of a batch must have equally many blocks; 0 if not.

    Returns:
        Indices in `lengths`, each once. The longest come first, so that a batch that does not fit
        into memory fails at once.

    Example:
        >>> batches_of([3, 9, 4, 4], tokens=10)
        [[1], [2, 3], [0]]
    """
    batches: list[list[int]] = []
    most, blocks = 0, 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        length = lengths[index]
        if batches and not (same_blocks and -(-length // same_blocks) != blocks):
            batch = batches[-1]
            if len(batch) < batch_size if batch_size else most + length <= tokens:
                batch.append(index)
                most += length
                continue
        batches.append([index])
        most, blocks = length, -(-length // same_blocks) if same_blocks else 0
    return batches


class PaddedTokens(NamedTuple):
    """A batch of sequences of DNA."""

    token_ids_BT: Tensor
    """int64, with [CLS] and [SEP]."""
    is_padding_BT: Tensor
    """bool."""


def padded(encoded: Sequence[np.ndarray], tokenizer) -> PaddedTokens:
    """Return the batch of some sequences of token ids."""
    lengths = np.array([len(ids) + 2 for ids in encoded])
    token_ids = np.full((len(encoded), lengths.max()), tokenizer.pad_id, dtype=np.int64)
    token_ids[:, 0] = tokenizer.cls_id
    for row, ids in zip(token_ids, encoded, strict=True):
        row[1 : len(ids) + 1] = ids
        row[len(ids) + 1] = tokenizer.sep_id
    is_padding = np.arange(lengths.max()) >= lengths[:, None]
    return PaddedTokens(torch.from_numpy(token_ids), torch.from_numpy(is_padding))
