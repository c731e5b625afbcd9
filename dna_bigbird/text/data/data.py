"""Batches of text rows; the training stream is that of labelled sets (datasets.streams)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from dna_bigbird.corpus.batches import PAD_ID, pad_right, padding_of
from dna_bigbird.text.data.rows import TextRow, TextSet, row_lengths
from dna_bigbird.training.data_modules import ExampleData, LabelledOrder, chunks

# B batch, T tokens


def common_fields(rows: Sequence[tuple[int, TextRow]]) -> dict[str, Tensor]:
    """Return what every batch of text has; padding is on the right.

    Args:
        rows: Row numbers and rows.

    Returns:
        `token_ids_BT` (int64), `is_padding_BT` (bool), `segment_ids_BT` (int64), `rows_B` (int64).
    """
    ids = [row.token_ids for _, row in rows]
    segments = [
        np.zeros(len(row.token_ids), np.int8) if row.segment_ids is None else row.segment_ids
        for _, row in rows
    ]
    return {
        "token_ids_BT": pad_right(ids, PAD_ID),
        "is_padding_BT": padding_of(ids),
        "segment_ids_BT": pad_right(segments, 0),
        "rows_B": torch.tensor([number for number, _ in rows]),
    }


class _NumberedRows(Dataset):
    def __init__(self, rows: Sequence[TextRow]) -> None:
        self.rows = rows

    def __getitem__(self, number: int) -> tuple[int, TextRow]:
        return number, self.rows[number]


class _UnitOrder:
    """Rows that belong together stay together; a micro-batch has `batch_size` such units."""

    def __init__(self, units: Sequence[Sequence[int]], *, seed: int, batch_size: int) -> None:
        self.units = units
        self.order = LabelledOrder(len(units), seed=seed, batch_size=batch_size, both_strands=False)

    def micro_batch(self, number: int) -> list[int]:
        return [row for unit in self.order.micro_batch(number) for row in self.units[unit]]


class _SingleRows(Sequence):
    """Each row alone is a unit."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[int]:
        return (number,)


def batches_by_length(rows: Sequence[TextRow], batch_size: int) -> list[list[int]]:
    """Return row numbers, `batch_size` of about equal length together."""
    return chunks(sorted(range(len(rows)), key=row_lengths(rows).__getitem__), batch_size)


def text_data(
    train: TextSet,
    validation: TextSet,
    collate: Callable[[Sequence[tuple[int, TextRow]]], NamedTuple],
    *,
    seed: int,
    batch_size: int,
    accumulate: int = 1,
    workers: int = 0,
    units: Sequence[Sequence[int]] | None = None,
) -> ExampleData:
    """Return the training stream over the rows and a validation over all rows.

    Args:
        collate: Gives a NamedTuple of tensors only, so that data workers can send it.
        batch_size: Rows (or units) of a micro-batch.
        units: Row numbers that one micro-batch must hold together; by default each row alone.
    """
    order = _UnitOrder(units or _SingleRows(len(train.rows)), seed=seed, batch_size=batch_size)
    return ExampleData(
        train=_NumberedRows(train.rows),
        train_numbers=order.micro_batch,
        validation=_NumberedRows(validation.rows),
        validation_batches=batches_by_length(validation.rows, batch_size),
        collate=collate,
        accumulate=accumulate,
        workers=workers,
    )
