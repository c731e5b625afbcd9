"""Batches on their way from a data worker: one buffer instead of many tensors."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dna_bigbird.core.errors import InputError


class PackedBatch(NamedTuple):
    """A batch on its way from a data worker: one buffer instead of a dozen, in narrow types."""

    batch_type: type
    fields: tuple[tuple[torch.dtype, torch.dtype, tuple[int, ...]], ...]
    """Of each field the type it travels in, its own type and its shape."""
    buffer: Tensor


def pack(batch: tuple) -> PackedBatch:
    """Put all tensors of a batch into one buffer; `unpack` gives the same batch.

    Each tensor that a worker sends costs a file descriptor and a new piece of shared memory, more
    than making the example did.
    """
    fields, parts = [], []
    for field in batch:
        is_small = field.dtype == torch.int64 and (field.abs() < 2**31).all()
        narrow = torch.int32 if is_small else field.dtype
        fields.append((narrow, field.dtype, tuple(field.shape)))
        parts.append(field.to(narrow).contiguous().view(-1).view(torch.uint8))
    return PackedBatch(type(batch), tuple(fields), torch.cat(parts))


def unpack(packed: PackedBatch) -> tuple:
    """Return the batch that was packed, where there is a GPU in memory that it can read."""
    tensors, start, on_gpu = [], 0, torch.cuda.is_available()
    for narrow, dtype, shape in packed.fields:
        end = start + math.prod(shape) * narrow.itemsize
        # A slice may start between two numbers of its type: clone aligns it.
        tensor = packed.buffer[start:end].clone().view(narrow).view(shape).to(dtype)
        tensors.append(tensor.pin_memory() if on_gpu else tensor)
        start = end
    return packed.batch_type(*tensors)


def collate_packed(collate: Callable[[Any], tuple], examples: Sequence) -> PackedBatch:
    return pack(collate(examples))


class WorkerLoader(DataLoader):
    """A DataLoader with workers, which send their batches packed."""

    def __iter__(self) -> Iterator[tuple]:
        try:
            yield from map(unpack, super().__iter__())
        except InputError as error:
            # torch puts the worker's whole traceback into the message; its last line is ours.
            raise InputError(str(error).strip().rpartition("InputError: ")[2]) from None
