"""Rows tokenized when asked for: the very batches of rows tokenized once, from any worker."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set
from dna_bigbird.labelled.tokenized import RowsOnTheFly, encode_window, tokenize_rows
from dna_bigbird.training.data_modules import labelled_data


class RunTokenizer:
    """One token a run of equal bases, so lengths differ; no [CLS] or [SEP] if told so."""

    def __init__(self, special=True):
        self.cls_id, self.sep_id = (2, 3) if special else (None, None)

    def encode(self, sequence):
        codes = np.frombuffer(sequence.encode(), np.uint8)
        return codes[np.append(True, codes[1:] != codes[:-1])].astype(np.int64)


@pytest.fixture
def made(tmp_path, toy):
    """13 rows of 120 bp and 11 labels, both strands, two of them with stored bases."""
    rng = np.random.default_rng(4)
    stored = np.full(13, -1)
    stored[[3, 8]] = [1, 0]
    data = LabelledData(
        task="promoter",
        window_bp=120,
        label_names=[f"l{i}" for i in range(11)],
        label_groups=["g"] * 11,
        intervals=[Interval("chr1", 100 * i, 100 * i + 120, "+-"[i % 2]) for i in range(13)],
        names=[],
        labels=rng.integers(0, 2, (13, 11)),
        split=np.zeros(13),
        sequences=rng.choice(np.frombuffer(b"ACGT", np.uint8), (2, 120)),
        stored=stored,
    )
    write_labelled_set(tmp_path / "s.h5", data, toy, assembly="toy", command="", inputs={})
    return LabelledSet(tmp_path / "s.h5", toy)


def batches(train, validation, workers, count=20):
    stream = labelled_data(
        train, validation, seed=1, batch_size=3, both_strands=True, workers=workers
    )
    stream.trainer = SimpleNamespace(global_step=0, world_size=1, global_rank=0)
    endless = iter(stream.train_dataloader())
    return [next(endless) for _ in range(count)]


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("workers", [0, 2])
def test_the_same_batches_bit_for_bit(made, workers, special):
    """20 batches of 3 take the 13 rows several times, on both strands."""
    rows = np.array([0, 2, 3, 5, 8, 9, 12])
    once = tokenize_rows(made, rows, RunTokenizer(special), max_tokens=200, both_strands=True)
    lazy = RowsOnTheFly(made, rows, RunTokenizer(special), max_tokens=200)
    expected, found = batches(once, once, 0), batches(lazy, once, workers)
    for one, other in zip(expected, found, strict=True):
        for x, y in zip(one, other, strict=True):
            assert x.dtype == y.dtype
            assert torch.equal(x, y)
    assert {int(row) for batch in found for row in batch.examples_B} == set(rows.tolist())
    row = int(found[0].examples_B[0])
    assert found[0].labels_BL[0].tolist() == made.labels[row].tolist()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_window_that_does_not_fit_is_one_line_from_a_worker_too(made, workers):
    lazy = RowsOnTheFly(made, np.arange(13), RunTokenizer(), max_tokens=50, name="s.h5")
    once = tokenize_rows(made, np.arange(2), RunTokenizer(), max_tokens=200, both_strands=False)
    with pytest.raises(InputError, match=r"^s\.h5: row \d+ \(chr1:\d+-\d+, 120 bp\) has [^\n]*$"):
        batches(lazy, once, workers)


def test_a_tokenizer_without_special_tokens_adds_none():
    assert encode_window("AAC", RunTokenizer()).tolist() == [2, 65, 67, 3]
    assert encode_window("AAC", RunTokenizer(special=False)).tolist() == [65, 67]


class DrawnBases:
    """The codes of the bases, and the number that was drawn."""

    share = 0.5

    def encode(self, sequence, rng):
        return np.append(RunTokenizer().encode(sequence), rng.integers(100, 60_000))


def drawn_rows(made, rows, max_tokens=200):
    return RowsOnTheFly(
        made, rows, RunTokenizer(), max_tokens=max_tokens, dropout=DrawnBases(), seed=1
    )


ROWS = np.array([0, 2, 3, 5, 8, 9, 12])


@pytest.mark.parametrize("workers", [0, 2])
def test_drawn_tokens_are_a_function_of_the_seed_and_the_example(made, workers):
    """20 batches of 3 take the 7 rows eight times: never the same draw, and the same after a restart."""
    once = tokenize_rows(made, ROWS, RunTokenizer(), max_tokens=200, both_strands=True)
    usual, found = batches(once, once, 0), batches(drawn_rows(made, ROWS), once, workers)
    draws = []
    for expected, batch in zip(usual, found, strict=True):
        assert torch.equal(expected.examples_B, batch.examples_B), "the same rows in the same order"
        for ids, plain in zip(batch.token_ids_BT, expected.token_ids_BT, strict=True):
            ids, plain = ids[ids > 0].tolist(), plain[plain > 0].tolist()
            assert [*ids[:-2], 3] == plain, "on the same strand"
            draws.append(ids[-2])
    assert len(set(draws)) == len(draws)
    expected = [int(np.random.default_rng([1, e, 3]).integers(100, 60_000)) for e in range(60)]
    assert draws == expected
    stream = labelled_data(
        drawn_rows(made, ROWS), once, seed=1, batch_size=3, both_strands=True, workers=workers
    )
    stream.trainer = SimpleNamespace(global_step=11, world_size=1, global_rank=0)
    again = iter(stream.train_dataloader())
    for batch in found[11:]:
        assert torch.equal(next(again).token_ids_BT, batch.token_ids_BT)


def test_a_draw_that_does_not_fit_has_the_usual_tokens(made):
    lengths = [len(encode_window(made.sequence(row), RunTokenizer())) for row in ROWS.tolist()]
    rows = drawn_rows(made, ROWS, max_tokens=max(lengths))
    for index, length in enumerate(lengths):
        found = rows.drawn_ids(index, "+", example=5)
        assert len(found) == (length if length == max(lengths) else length + 1)
    assert max(map(len, (rows.ids(i) for i in range(len(ROWS))))) == max(lengths)
