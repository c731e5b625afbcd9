"""Examples and their order: functions of numbers, whoever asks."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dna_bigbird.core import limits
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.batches import collate_labelled, collate_pretraining, pack, unpack
from dna_bigbird.genome import Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.labelled_data import PackedLabels
from dna_bigbird.labelled.tokenized import tokenize_rows
from dna_bigbird.training.data_modules import LabelledOrder, labelled_data, pretraining_data


class LetterTokenizer:
    """One token a base; A 5, C 6, G 7, T 8, N 9."""

    cls_id, sep_id = 2, 3

    def encode(self, sequence):
        return np.array([5 + "ACGTN".index(base) for base in sequence])


class ToySet:
    """Windows of lengths that differ, with one label."""

    def __init__(self, lengths, seed=0):
        rng = np.random.default_rng(seed)
        self.sequences = ["".join(rng.choice(list("ACGT"), n)) for n in lengths]
        self.labels = rng.integers(0, 2, size=(len(lengths), 1)).astype(np.uint8)
        self.packed_labels = PackedLabels.of(self.labels)
        self.window_bp = max(lengths)

    def label_table(self, rows):
        return self.packed_labels.keep(rows)

    def sequence(self, row):
        return self.sequences[row]

    def interval(self, row):
        return Interval("chr1", 100 * row, 100 * row + len(self.sequences[row]))


def tokenized(data, rows, both_strands=True, max_tokens=1000):
    return tokenize_rows(
        data,
        np.asarray(rows),
        LetterTokenizer(),
        max_tokens=max_tokens,
        both_strands=both_strands,
        name="set.h5",
    )


def attach(module, *, step=0, world=1, rank=0):
    module.trainer = SimpleNamespace(global_step=step, world_size=world, global_rank=rank)
    return module


def take(loader, count):
    stream = iter(loader)
    return [next(stream) for _ in range(count)]


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


class NumberedExamples:
    def __getitem__(self, index):
        length = 5 + index % 4
        ids = np.full(length, 5 + index % 7)
        return {
            "token_ids": ids,
            "segment_ids": np.ones(length, dtype=np.int64),
            "positions": np.array([1, length - 1]),
            "labels": np.array([index, index + 1000]),
            "is_next": index % 2,
        }


def pretraining(**settings):
    values = {"batch_size": 3, "validation_examples": 7} | settings
    return pretraining_data(NumberedExamples(), NumberedExamples(), **values)


def labelled(**settings):
    lengths = [20, 33, 8, 40, 15, 60, 22, 9, 31, 47, 12]
    data = tokenized(ToySet(lengths), range(11))
    values = {"seed": 5, "batch_size": 2, "both_strands": True} | settings
    return labelled_data(data, data, **values)


def test_padding_and_flat_positions():
    batch = collate_pretraining([(i, NumberedExamples()[i]) for i in (0, 3)])
    assert batch.token_ids_BT.tolist() == [[5, 5, 5, 5, 5, 0, 0, 0], [8] * 8]
    assert batch.is_padding_BT.tolist() == [[False] * 5 + [True] * 3, [False] * 8]
    assert batch.positions_P.tolist() == [1, 4, 8 + 1, 8 + 7]
    assert batch.labels_P.tolist() == [0, 1000, 3, 1003]
    assert batch.is_random_next_B.tolist() == [0, 1]
    assert batch.predicted_B.tolist() == [2, 2]
    assert batch.examples_B.tolist() == [0, 3]


@pytest.mark.parametrize("make", [pretraining, labelled])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("step", [0, 1, 7])
def test_stream_continues_where_it_stood(make, workers, step):
    """20 micro-batches cross the 11 rows of the toy set several times."""
    undisturbed = take(attach(make()).train_dataloader(), 20)
    continued = attach(make(accumulate=2, workers=workers), step=step).train_dataloader()
    rest = take(continued, 20 - 2 * step)
    assert all(map(equal, undisturbed[2 * step :], rest))


@pytest.mark.filterwarnings("ignore:.*DataLoader will create:UserWarning")
def test_data_workers_are_at_most_four_per_processor(monkeypatch, capsys):
    monkeypatch.setattr(limits, "usable_processors", lambda: 1)
    made = attach(pretraining(workers=100)).train_dataloader()
    assert made.num_workers == 4
    assert "note: 100 workers: at most 4 for each of 1 usable processor, so 4 processes start" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("number", [3, 2**31 - 1, 2**31, -(2**31), 2**62])
def test_a_packed_batch_comes_back_as_it_was(number):
    batch = collate_pretraining([(i, NumberedExamples()[i]) for i in (0, 1, 3)])
    batch = batch._replace(examples_B=torch.tensor([0, number, 1]))
    packed = pack(batch)
    back = unpack(packed)
    assert type(back) is type(batch)
    assert equal(back, batch)
    assert [field.dtype for field in back] == [field.dtype for field in batch]
    assert packed.buffer.numel() < 0.6 * sum(x.numel() * x.itemsize for x in batch)


@pytest.mark.parametrize("make", [pretraining, labelled])
def test_processes_share_the_stream(make):
    """Two processes without accumulation see what one sees that accumulates two."""
    alone = take(attach(make(accumulate=2), step=3).train_dataloader(), 8)
    parts = [
        take(attach(make(), step=3, world=2, rank=rank).train_dataloader(), 4) for rank in (0, 1)
    ]
    assert all(map(equal, alone[0::2], parts[0]))
    assert all(map(equal, alone[1::2], parts[1]))


@pytest.mark.parametrize("make", [pretraining, labelled])
def test_validation_takes_every_example_once(make):
    whole = attach(make()).val_dataloader()
    parts = [attach(make(), world=2, rank=rank).val_dataloader() for rank in (0, 1)]
    seen = [sorted(int(e) for batch in loader for e in batch.examples_B) for loader in [whole]]
    shared = sorted(int(e) for loader in parts for batch in loader for e in batch.examples_B)
    assert seen[0] == shared == list(range(len(shared)))


def order_of(count=37, batch_size=4, seed=0, both_strands=True):
    return LabelledOrder(count, seed=seed, batch_size=batch_size, both_strands=both_strands)


def rows_of(numbers):
    return [n if n >= 0 else ~n for n in numbers]


def test_an_epoch_has_every_row_once():
    order = order_of(count=64)
    for epoch in range(3):
        numbers = [n for b in range(16) for n in order.micro_batch(16 * epoch + b)]
        assert sorted(rows_of(numbers)) == list(range(64))


def test_strands_are_drawn_evenly_and_only_if_asked():
    order = order_of(count=64)
    numbers = [n for b in range(800) for n in order.micro_batch(b)]
    assert 0.45 < np.mean([n < 0 for n in numbers]) < 0.55
    forward = order_of(count=64, both_strands=False)
    assert all(n >= 0 for b in range(50) for n in forward.micro_batch(b))


def test_order_depends_on_the_seed_and_not_on_what_was_asked_before():
    order = order_of()
    numbers = [order.micro_batch(b) for b in range(40)]
    again = order_of()
    assert [again.micro_batch(b) for b in reversed(range(40))] == numbers[::-1]
    assert [order_of(seed=1).micro_batch(b) for b in range(40)] != numbers


def test_rows_are_tokenized_on_both_strands():
    data = ToySet([20, 31])
    rows = tokenized(data, [1])
    expected = LetterTokenizer().encode(data.sequences[1])
    assert rows.ids(0).tolist() == [2, *expected, 3]
    reverse = LetterTokenizer().encode(reverse_complement(data.sequences[1]))
    assert rows.ids(0, "-").tolist() == [2, *reverse, 3]
    batch = collate_labelled([(1, rows.ids(0, "-"), rows.labels[0])])
    assert batch.labels_BL.tolist() == [[float(data.labels[1, 0])]]
    assert batch.examples_B.tolist() == [1]


def test_a_window_that_does_not_fit_is_refused_not_cut():
    with pytest.raises(
        InputError,
        match=r"set.h5: row 1 \(chr1:100-131, 31 bp\) has 33 tokens .* at most 32, .*"
        r"smaller window, or start from a model of 33 or more: dna-bigbird pretrain --model.max_tokens 33",
    ):
        tokenized(ToySet([20, 31]), [0, 1], max_tokens=32)
    assert len(tokenized(ToySet([20, 31]), [0, 1], max_tokens=33)) == 2
