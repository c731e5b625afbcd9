"""Batches of text rows: padding, order, units."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from dna_bigbird.text.data.rows import TextFeatures, TextSet
from dna_bigbird.text.tasks.task import batches_by_length, common_fields, text_data

LENGTHS = [3, 9, 4, 1, 7, 7, 2]


class Batch(NamedTuple):
    token_ids_BT: Tensor  # noqa: N815
    is_padding_BT: Tensor  # noqa: N815
    segment_ids_BT: Tensor  # noqa: N815
    rows_B: Tensor  # noqa: N815


def collate(rows):
    return Batch(**common_fields(rows))


def made(lengths=LENGTHS):
    rows = [
        TextFeatures(
            np.arange(1, n + 1, dtype=np.int32) + 10 * i,
            example=i,
            segment_ids=np.ones(n, np.int8) if i % 2 else None,
        )
        for i, n in enumerate(lengths)
    ]
    return TextSet(list(range(len(lengths))), rows, {})


def stream(units=None, workers=0, step=0, world=1, rank=0, **given):
    data = text_data(
        made(), made(), collate, seed=5, units=units, workers=workers,
        **({"batch_size": 2, "accumulate": 1} | given),
    )  # fmt: skip
    data.trainer = SimpleNamespace(global_step=step, world_size=world, global_rank=rank)
    return data


def first(loader, count):
    batches = iter(loader)
    return [next(batches) for _ in range(count)]


def test_padding_and_segments():
    batch = collate([(4, made().rows[0]), (1, made().rows[1])])
    assert batch.token_ids_BT.tolist()[0] == [1, 2, 3, 0, 0, 0, 0, 0, 0]
    assert batch.is_padding_BT.tolist()[0] == [False] * 3 + [True] * 6
    assert batch.segment_ids_BT.tolist() == [[0] * 9, [1] * 9]
    assert batch.rows_B.tolist() == [4, 1]
    assert batch.token_ids_BT.dtype == batch.segment_ids_BT.dtype == torch.int64


def test_an_epoch_shows_every_row_once_in_another_order():
    numbers = torch.cat([b.rows_B for b in first(stream().train_dataloader(), 7)]).tolist()
    assert sorted(numbers[:7]) == sorted(numbers[7:]) == list(range(7))
    assert numbers[:7] != numbers[7:]


@pytest.mark.parametrize("workers", [0, 1])
def test_the_stream_depends_on_the_step_alone(workers):
    whole = first(stream().train_dataloader(), 6)
    again = first(stream(step=4, workers=workers).train_dataloader(), 2)
    for a, b in zip(whole[4:], again, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_two_processes_read_what_one_reads_that_accumulates():
    whole = [b.rows_B.tolist() for b in first(stream().train_dataloader(), 6)]
    parts = [first(stream(world=2, rank=r).train_dataloader(), 3) for r in (0, 1)]
    assert [part[i].rows_B.tolist() for i in range(3) for part in parts] == whole


def test_units_stay_together():
    units = [[0, 1], [2], [3, 4, 5], [6]]
    batches = first(stream(units, batch_size=2).train_dataloader(), 4)
    seen = [b.rows_B.tolist() for b in batches]
    for numbers in seen:
        assert any(numbers == a + b for a in units for b in units)
    assert sorted(seen[0] + seen[1]) == list(range(7))


def test_validation_has_every_row_once_the_short_ones_together():
    batches = [b.rows_B.tolist() for b in stream(batch_size=3).val_dataloader()]
    assert batches == batches_by_length(made().rows, 3) == [[3, 6, 0], [2, 4, 5], [1]]
    shares = [stream(batch_size=3, world=2, rank=rank).val_dataloader() for rank in (0, 1)]
    numbers = [int(i) for loader in shares for batch in loader for i in batch.rows_B]
    assert sorted(numbers) == list(range(7))
