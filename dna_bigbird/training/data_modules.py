"""Batches for training: every example is a function of its number, and nothing else.

A run is a stream of micro-batches numbered 0, 1, 2, …; process r of W, in accumulation pass a of
optimizer step s, trains on number (s * accumulate + a) * W + r. So the stream is the same for any
number of data workers, for one process that accumulates or several that do not, and after a
restart, which only has to know the step.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from dna_bigbird.core.child_processes import ending_worker
from dna_bigbird.core.limits import allowed_workers
from dna_bigbird.corpus.batches import (
    WorkerLoader,
    collate_labelled,
    collate_packed,
    collate_pretraining,
)
from dna_bigbird.labelled.chromatin.bin_groups import BinGroups
from dna_bigbird.labelled.tokenized import RowsOnTheFly, TokenizedRows

WORKER_BYTES = 100_000_000
"""Memory of a data worker: most of what it has it shares with the process that trains."""


class MicroBatches(Sampler[list[int]]):
    """Micro-batches by their numbers; without a length, as a training stream has no end."""

    def __init__(self, numbers_of: Callable[[int], list[int]], numbers: range) -> None:
        self.numbers_of, self.numbers = numbers_of, numbers

    def __iter__(self) -> Iterator[list[int]]:
        return map(self.numbers_of, self.numbers)


class _Numbered(Dataset):
    """Examples with their numbers, through any object with `__getitem__`."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __getitem__(self, index: int) -> tuple[int, dict]:
        return index, self.examples[index]


class _Rows(Dataset):
    """Tokenized rows by number, a reverse complement by its bitwise complement (~)."""

    def __init__(self, rows: TokenizedRows | RowsOnTheFly, groups: BinGroups | None = None) -> None:
        self.rows = rows
        self.groups = groups

    def __getitem__(self, number: int) -> tuple[int, np.ndarray, *tuple[np.ndarray, ...]]:
        index, strand = _index_and_strand(number)
        return self._example(index, strand, self.rows.ids(index, strand))

    def _example(
        self, index: int, strand: str, ids: np.ndarray
    ) -> tuple[int, np.ndarray, *tuple[np.ndarray, ...]]:
        row = int(self.rows.rows[index])
        if self.groups is None:
            labels = self.rows.labels[index]
            # Of tracks (bins, L): the last bin of the other strand is the first one.
            return row, ids, labels[::-1] if strand == "-" and labels.ndim == 2 else labels
        return row, ids, *self.groups.of_window(index, strand)


class _DrawnRows(_Rows):
    """Rows by the number of their example in the stream, for tokens that are drawn for each example."""

    def __init__(
        self, rows: RowsOnTheFly, order: "LabelledOrder", groups: BinGroups | None = None
    ) -> None:
        super().__init__(rows, groups)
        self.order = order

    def __getitem__(self, example: int) -> tuple[int, np.ndarray, *tuple[np.ndarray, ...]]:
        index, strand = _index_and_strand(self.order.example(example))
        return self._example(index, strand, self.rows.drawn_ids(index, strand, example))


def _index_and_strand(number: int) -> tuple[int, str]:
    return (number, "+") if number >= 0 else (~number, "-")


@dataclass(kw_only=True, eq=False)
class ExampleData(pl.LightningDataModule):
    """A training stream that starts at the trainer's step, and a fixed validation set."""

    train: Dataset
    train_numbers: Callable[[int], list[int]]
    """Example numbers of a micro-batch of the training stream."""
    validation: Dataset
    validation_batches: list[list[int]]
    """Example numbers of every validation batch."""
    collate: Callable
    accumulate: int
    workers: int

    def __post_init__(self) -> None:
        super().__init__()
        self.workers = allowed_workers(self.workers, WORKER_BYTES)

    def train_dataloader(self) -> DataLoader:
        """Return the stream from the trainer's step on, this process's share of it."""
        trainer = self.trainer
        done = trainer.global_step * self.accumulate
        world, rank = trainer.world_size, trainer.global_rank
        numbers = range(done * world + rank, sys.maxsize, world)
        return self._loader(self.train, MicroBatches(self.train_numbers, numbers), self.workers)

    def val_dataloader(self) -> DataLoader:
        """Return this process's share of the validation batches; no example occurs twice."""
        batches = self.validation_batches
        numbers = range(self.trainer.global_rank, len(batches), self.trainer.world_size)
        return self._loader(self.validation, MicroBatches(batches.__getitem__, numbers), workers=0)

    def _loader(self, dataset: Dataset, sampler: MicroBatches, workers: int) -> DataLoader:
        if not workers:
            return DataLoader(
                dataset,
                batch_sampler=sampler,
                collate_fn=self.collate,
                pin_memory=torch.cuda.is_available(),
            )
        return WorkerLoader(
            dataset,
            batch_sampler=sampler,
            collate_fn=functools.partial(collate_packed, self.collate),
            num_workers=workers,
            worker_init_fn=ending_worker(),
        )


def pretraining_data(
    train: Any,
    validation: Any,
    *,
    batch_size: int,
    validation_examples: int,
    accumulate: int = 1,
    workers: int = 0,
    collate: Callable = collate_pretraining,
) -> ExampleData:
    """Micro-batch m of pretraining is examples m * batch_size … (m + 1) * batch_size - 1."""

    def numbers(batch: int) -> list[int]:
        return list(range(batch * batch_size, (batch + 1) * batch_size))

    return ExampleData(
        train=_Numbered(train),
        train_numbers=numbers,
        validation=_Numbered(validation),
        validation_batches=chunks(list(range(validation_examples)), batch_size),
        collate=collate,
        accumulate=accumulate,
        workers=workers,
    )


def labelled_data(
    train: TokenizedRows | RowsOnTheFly,
    validation: TokenizedRows,
    *,
    seed: int,
    batch_size: int,
    both_strands: bool,
    accumulate: int = 1,
    workers: int = 0,
    groups: BinGroups | None = None,
) -> ExampleData:
    """Micro-batches of a labelled set, in the order of `LabelledOrder`."""
    # Rows whose tokens are drawn (`RowsOnTheFly.is_drawn`) are drawn for every example of the
    # stream.
    order = LabelledOrder(len(train), seed=seed, batch_size=batch_size, both_strands=both_strands)
    by_length = sorted(range(len(validation)), key=lambda index: len(validation.ids(index)))
    is_drawn = isinstance(train, RowsOnTheFly) and train.is_drawn
    return ExampleData(
        train=_DrawnRows(train, order, groups) if is_drawn else _Rows(train, groups),
        train_numbers=order.examples if is_drawn else order.micro_batch,
        validation=_Rows(validation),
        validation_batches=chunks(by_length, batch_size),
        collate=collate_labelled,
        accumulate=accumulate,
        workers=workers,
    )


@dataclass
class LabelledOrder:
    """Which rows, on which strand, make each micro-batch of a labelled set.

    Example e of the stream is row `permutation(seed, epoch)[e % count]` of epoch e // count,
    reverse complemented if the (seed, epoch) coin of its place says so. Batches are not sorted by
    length: that would sort by label too wherever positives and negatives differ in tokens.
    """

    count: int
    _: KW_ONLY
    seed: int
    batch_size: int
    both_strands: bool
    _epoch: tuple[int, np.ndarray] | None = field(default=None, init=False)

    def micro_batch(self, number: int) -> list[int]:
        """Return row places; a reverse complement is the bitwise complement (~) of its place."""
        return [self.example(example) for example in self.examples(number)]

    def examples(self, number: int) -> list[int]:
        """Return the numbers of the examples of a micro-batch."""
        return list(range(number * self.batch_size, (number + 1) * self.batch_size))

    def example(self, example: int) -> int:
        """Return the place of an example's row, or its bitwise complement."""
        epoch, position = divmod(example, self.count)
        if self._epoch is None or self._epoch[0] != epoch:
            rng = np.random.default_rng([self.seed, epoch])
            order = rng.permutation(self.count)
            coins = rng.random(self.count) < 0.5
            self._epoch = (epoch, np.where(coins & self.both_strands, ~order, order))
        return int(self._epoch[1][position])


def chunks(values: list, size: int) -> list[list]:
    """Cut a list into pieces of `size`; the last may be shorter."""
    return [values[i : i + size] for i in range(0, len(values), size)]
