"""Batches of DNA examples as tensors, and how examples are joined into them."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
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
    """Put all tensors of a batch into one buffer; `unpack` gives the same batch."""
    # Each tensor that a worker sends costs a file descriptor and a new piece of shared memory, more
    # than making the example did.
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


# B batch, T tokens, P predicted positions or bins of the whole batch, L labels
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

PAD_ID = 0
"""Written where there is no token; a model never reads it, so it suits every vocabulary."""


class PretrainingBatch(NamedTuple):
    """Sentence pairs with masked tokens; padding is on the right."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    segment_ids_BT: Tensor
    positions_P: Tensor
    """Positions of the predicted tokens in the flattened (B * T)."""
    labels_P: Tensor
    """Their original ids."""
    is_random_next_B: Tensor
    """0: the second part follows the first; 1: it comes from anywhere."""
    predicted_B: Tensor
    """How many of the P belong to each example."""
    examples_B: Tensor
    """Numbers of the examples."""
    weights_P: Tensor = torch.ones(0)
    """Weight of each of the P in the loss of training; empty: all weigh the same."""
    copied_PK: Tensor = torch.zeros(0, 0, dtype=torch.int64)
    """Tokens that copies of the training text have there; empty: nothing is copied."""
    copied_scores_PKF: Tensor = torch.zeros(0, 0, 0)
    """How good the copies are."""


class LabelledBatch(NamedTuple):
    """Windows with their labels; padding is on the right."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    labels_BL: Tensor
    """float32, 0, 1 or NaN (not measured); with `bins_P2` a row per bin (P, L)."""
    examples_B: Tensor
    """Rows of the labelled set."""
    bins_P2: Tensor = torch.zeros(0, 2, dtype=torch.int64)
    """Window and number of the bin of each row of labels (`models.classifier.states_of_bins`); empty: the labels
    are of the windows."""


def pad_right(rows: Sequence[np.ndarray], fill: int) -> Tensor:
    """Stack rows of ids as int64 (B, T), filled up on the right."""
    padded = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return torch.from_numpy(padded)


def padding_of(rows: Sequence[np.ndarray]) -> Tensor:
    """Return bool (B, T), True where `pad_right` fills up."""
    lengths = torch.tensor([len(row) for row in rows])
    return torch.arange(int(lengths.max()))[None, :] >= lengths[:, None]


def masked_fields(examples: Sequence[tuple[int, dict]]) -> dict[str, Tensor]:
    """Join tokens and predicted positions of numbered examples, of DNA or text, by field."""
    rows = [example["token_ids"] for _, example in examples]
    token_ids_BT = pad_right(rows, PAD_ID)
    width = token_ids_BT.shape[1]
    positions = [i * width + np.asarray(e["positions"]) for i, (_, e) in enumerate(examples)]
    labels = [np.asarray(e["labels"]) for _, e in examples]
    return {
        "token_ids_BT": token_ids_BT,
        "is_padding_BT": padding_of(rows),
        "positions_P": torch.from_numpy(np.concatenate(positions).astype(np.int64)),
        "labels_P": torch.from_numpy(np.concatenate(labels).astype(np.int64)),
        "predicted_B": torch.tensor([len(part) for part in labels]),
        "examples_B": torch.tensor([index for index, _ in examples]),
    }


def collate_pretraining(examples: Sequence[tuple[int, dict]]) -> PretrainingBatch:
    """Join numbered examples of datasets.pretraining_examples.PretrainExamples, or weighted ones."""
    joined = {"weights": "weights_P", "copied": "copied_PK", "copied_scores": "copied_scores_PKF"}
    more = {
        field: torch.from_numpy(np.concatenate([e[name] for _, e in examples]))
        for name, field in joined.items()
        if name in examples[0][1]
    }
    return PretrainingBatch(
        **more,
        **masked_fields(examples),
        segment_ids_BT=pad_right([e["segment_ids"] for _, e in examples], 0),
        is_random_next_B=torch.tensor([int(e["is_next"]) for _, e in examples]),
    )


def collate_labelled(rows: Sequence[tuple[int, np.ndarray, np.ndarray]]) -> LabelledBatch:
    """Join tokenized windows: row, ids, labels (L,); or labels (P, L) and their bins (P,)."""
    ids = [row[1] for row in rows]
    fields = {
        "token_ids_BT": pad_right(ids, PAD_ID),
        "is_padding_BT": padding_of(ids),
        "examples_B": torch.tensor([row[0] for row in rows]),
    }
    labels = [row[2] for row in rows]
    if labels[0].ndim == 1:
        return LabelledBatch(
            labels_BL=torch.from_numpy(np.stack(labels).astype(np.float32)), **fields
        )
    windows = np.repeat(np.arange(len(rows)), [len(part) for part in labels])
    bins = np.stack([windows, np.concatenate([row[3] for row in rows])], axis=1)
    return LabelledBatch(
        labels_BL=torch.from_numpy(np.concatenate(labels).astype(np.float32)),
        bins_P2=torch.from_numpy(bins.astype(np.int64)),
        **fields,
    )


class MaskedBatch(NamedTuple):
    """Packed documents with masked tokens; padding is on the right."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    positions_P: Tensor
    """Places of the predicted tokens in the flattened (B * T)."""
    labels_P: Tensor
    """Their original ids."""
    predicted_B: Tensor
    """How many of the P belong to each example."""
    examples_B: Tensor
    """Numbers of the examples."""


def collate_masked(examples: Sequence[tuple[int, dict]]) -> MaskedBatch:
    """Join numbered examples of masked text."""
    return MaskedBatch(**masked_fields(examples))
