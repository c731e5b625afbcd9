"""Batches for training: every example is a function of its number, and nothing else.

A run is a stream of micro-batches numbered 0, 1, 2, …; process r of W, in accumulation pass a of
optimizer step s, trains on number (s * accumulate + a) * W + r. So the stream is the same for any
number of data workers, for one process that accumulates or several that do not, and after a
restart, which only has to know the step.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from dna_bigbird.child_processes import ending_worker
from dna_bigbird.datasets.tokenized import RowsOnTheFly, TokenizedRows
from dna_bigbird.errors import InputError
from dna_bigbird.limits import allowed_workers

# B batch, T tokens, P predicted positions of the whole batch, L labels
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

WORKER_BYTES = 100_000_000
"""Memory of a data worker: most of what it has it shares with the process that trains."""
PAD_ID = 0
"""Written where there is no token; a model never reads it, so it suits every vocabulary."""


class PretrainingBatch(NamedTuple):
    """Sentence pairs with masked tokens; padding is on the right."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    segment_ids_BT: Tensor
    positions_P: Tensor
    """Places of the predicted tokens in the flattened (B * T)."""
    labels_P: Tensor
    """Their original ids."""
    is_random_next_B: Tensor
    """0: the second part follows the first; 1: it comes from anywhere."""
    predicted_B: Tensor
    """How many of the P belong to each example."""
    examples_B: Tensor
    """Numbers of the examples."""


class LabelledBatch(NamedTuple):
    """Windows with their labels; padding is on the right."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    labels_BL: Tensor
    """float32, 0 or 1."""
    examples_B: Tensor
    """Rows of the labelled set."""


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


def collate_pretraining(examples: Sequence[tuple[int, dict]]) -> PretrainingBatch:
    """Join numbered examples of datasets.pretraining_examples.PretrainExamples."""
    rows = [example["token_ids"] for _, example in examples]
    token_ids_BT = pad_right(rows, PAD_ID)
    width = token_ids_BT.shape[1]
    positions = [i * width + np.asarray(e["positions"]) for i, (_, e) in enumerate(examples)]
    labels = [np.asarray(e["labels"]) for _, e in examples]
    return PretrainingBatch(
        token_ids_BT=token_ids_BT,
        is_padding_BT=padding_of(rows),
        segment_ids_BT=pad_right([e["segment_ids"] for _, e in examples], 0),
        positions_P=torch.from_numpy(np.concatenate(positions).astype(np.int64)),
        labels_P=torch.from_numpy(np.concatenate(labels).astype(np.int64)),
        is_random_next_B=torch.tensor([int(e["is_next"]) for _, e in examples]),
        predicted_B=torch.tensor([len(part) for part in labels]),
        examples_B=torch.tensor([index for index, _ in examples]),
    )


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
    """Return the batch that was packed."""
    tensors, start = [], 0
    for narrow, dtype, shape in packed.fields:
        end = start + math.prod(shape) * narrow.itemsize
        # A slice may start between two numbers of its type: clone aligns it.
        tensors.append(packed.buffer[start:end].clone().view(narrow).view(shape).to(dtype))
        start = end
    return packed.batch_type(*tensors)


def _collate_packed(collate: Callable[[Any], tuple], examples: Sequence) -> PackedBatch:
    return pack(collate(examples))


class WorkerLoader(DataLoader):
    """A DataLoader with workers, which send their batches packed."""

    def __iter__(self) -> Iterator[tuple]:
        try:
            yield from map(unpack, super().__iter__())
        except InputError as error:
            # torch puts the worker's whole traceback into the message; its last line is ours.
            raise InputError(str(error).strip().rpartition("InputError: ")[2]) from None


class MicroBatches(Sampler[list[int]]):
    """The micro-batches `first`, `first + stride`, … without end, or up to `stop`."""

    def __init__(
        self,
        numbers_of: Callable[[int], list[int]],
        *,
        first: int,
        stride: int,
        stop: int | None = None,
    ) -> None:
        self.numbers_of = numbers_of
        self.first = first
        self.stride = stride
        self.stop = stop

    def __iter__(self) -> Iterator[list[int]]:
        number = self.first
        while self.stop is None or number < self.stop:
            yield self.numbers_of(number)
            number += self.stride


class _Numbered(Dataset):
    """Examples with their numbers, through any object with `__getitem__`."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __getitem__(self, index: int) -> tuple[int, dict]:
        return index, self.examples[index]


class _Rows(Dataset):
    """Tokenized rows by number, a reverse complement by the bitwise complement (~) of the number."""

    def __init__(self, rows: TokenizedRows | RowsOnTheFly) -> None:
        self.rows = rows

    def __getitem__(self, number: int) -> tuple[int, np.ndarray, np.ndarray]:
        index = number if number >= 0 else ~number
        ids = self.rows.ids(index, strand="+" if number >= 0 else "-")
        return int(self.rows.rows[index]), ids, self.rows.labels[index]


def collate_labelled(rows: Sequence[tuple[int, np.ndarray, np.ndarray]]) -> LabelledBatch:
    """Join tokenized windows."""
    ids = [row[1] for row in rows]
    return LabelledBatch(
        token_ids_BT=pad_right(ids, PAD_ID),
        is_padding_BT=padding_of(ids),
        labels_BL=torch.from_numpy(np.stack([row[2] for row in rows]).astype(np.float32)),
        examples_B=torch.tensor([row[0] for row in rows]),
    )


class StreamData(pl.LightningDataModule):
    """A training stream that starts at the trainer's step, and a fixed validation set.

    Args:
        train, validation: Datasets for `collate`.
        train_numbers: Example numbers of a micro-batch of the training stream.
        validation_batches: Example numbers of every validation batch.
    """

    def __init__(
        self,
        *,
        train: Dataset,
        train_numbers: Callable[[int], list[int]],
        validation: Dataset,
        validation_batches: list[list[int]],
        collate: Callable,
        accumulate: int,
        workers: int,
    ) -> None:
        super().__init__()
        self.train = train
        self.train_numbers = train_numbers
        self.validation = validation
        self.validation_batches = validation_batches
        self.collate = collate
        self.accumulate = accumulate
        self.workers = allowed_workers(workers, WORKER_BYTES)

    def train_dataloader(self) -> DataLoader:
        """Return the stream from the trainer's step on, this process's share of it."""
        trainer = self.trainer
        done = trainer.global_step * self.accumulate
        world, rank = trainer.world_size, trainer.global_rank
        sampler = MicroBatches(self.train_numbers, first=done * world + rank, stride=world)
        return self._loader(self.train, sampler, self.workers)

    def val_dataloader(self) -> DataLoader:
        """Return this process's share of the validation batches; no example occurs twice."""
        sampler = MicroBatches(
            self.validation_batches.__getitem__,
            first=self.trainer.global_rank,
            stride=self.trainer.world_size,
            stop=len(self.validation_batches),
        )
        return self._loader(self.validation, sampler, workers=0)

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
            collate_fn=functools.partial(_collate_packed, self.collate),
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
) -> StreamData:
    """Micro-batch m of pretraining is examples m * batch_size … (m + 1) * batch_size - 1."""

    def numbers(batch: int) -> list[int]:
        return list(range(batch * batch_size, (batch + 1) * batch_size))

    return StreamData(
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
) -> StreamData:
    """Micro-batches of a labelled set, in the order of `LabelledOrder`."""
    order = LabelledOrder(len(train), seed=seed, batch_size=batch_size, both_strands=both_strands)
    by_length = sorted(range(len(validation)), key=lambda index: len(validation.ids(index)))
    return StreamData(
        train=_Rows(train),
        train_numbers=order.micro_batch,
        validation=_Rows(validation),
        validation_batches=chunks(by_length, batch_size),
        collate=collate_labelled,
        accumulate=accumulate,
        workers=workers,
    )


class LabelledOrder:
    """Which rows, on which strand, make each micro-batch of a labelled set.

    Example e of the stream is row `permutation(seed, epoch)[e % count]` of epoch e // count,
    reverse complemented if the (seed, epoch) coin of its place says so; micro-batch m holds the
    examples m * batch_size … (m + 1) * batch_size - 1. Batches are not sorted by length: that
    would sort by label too wherever positives and negatives differ in tokens.

    Args:
        count: Number of rows.
    """

    def __init__(self, count: int, *, seed: int, batch_size: int, both_strands: bool) -> None:
        self.count = count
        self.seed = seed
        self.batch_size = batch_size
        self.both_strands = both_strands
        self._epoch: tuple[int, np.ndarray] | None = None

    def micro_batch(self, number: int) -> list[int]:
        """Return row places; a reverse complement is the bitwise complement (~) of its place."""
        first = number * self.batch_size
        return [self._example(example) for example in range(first, first + self.batch_size)]

    def _example(self, example: int) -> int:
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
