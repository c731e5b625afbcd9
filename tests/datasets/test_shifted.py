"""Windows moved by chance: real bases around them where all rows have some, else N."""

import itertools

import numpy as np
import pytest

from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set
from dna_bigbird.labelled.tokenized import RowsOnTheFly, ShiftedRows, moved_within
from tests.datasets.test_on_the_fly import RunTokenizer, batches, tokenize_rows

BP = 40


@pytest.fixture
def genome(tmp_path):
    letters = np.random.default_rng(3).choice(list("ACGT"), 1000)
    (tmp_path / "g.fa").write_text(f">chr1\n{''.join(letters)}\n")
    return Genome(tmp_path / "g.fa")


def labelled(tmp_path, genome, starts, stored=0):
    count = len(starts)
    data = LabelledData(
        task="promoter",
        window_bp=BP,
        label_names=["promoter"],
        label_groups=[""],
        intervals=[Interval("chr1", s, s + BP, "+-"[i % 2]) for i, s in enumerate(starts)],
        names=[],
        labels=(np.arange(count) % 2)[:, None],
        split=np.zeros(count),
        sequences=np.frombuffer(b"ACGT" * (BP // 4) * stored, np.uint8).reshape(stored, BP),
        stored=np.array([*range(stored), *[-1] * (count - stored)]) if stored else None,
    )
    write_labelled_set(tmp_path / "s.h5", data, genome, assembly="toy", command="", inputs={})
    return LabelledSet(tmp_path / "s.h5", genome)


def test_bases_are_those_of_the_genome_beside_the_window(tmp_path, genome):
    data = labelled(tmp_path, genome, [100, 300, 7, 1000 - BP - 7])
    rows = ShiftedRows(data, np.arange(4), 7, seed=1)
    assert rows.from_genome
    whole = genome.fetch(Interval("chr1", 0, 1000, "+"))
    visited = set()
    for row, example in itertools.product(range(4), range(300)):
        shift = rows.shift(example)
        visited.add(shift)
        start = data.interval(row).start + shift
        expected = whole[start : start + BP]
        expected = reverse_complement(expected) if row % 2 else expected
        assert rows.bases(row, example) == expected
    assert visited == set(range(-7, 8)), "every shift, and none beyond"


@pytest.mark.parametrize(
    ("starts", "stored"), [([6, 300], 0), ([300, 1000 - BP - 6], 0), ([300, 400], 1)]
)
def test_one_row_without_surroundings_moves_all_within_themselves(tmp_path, genome, starts, stored):
    """N would otherwise be next to the rows of one class only."""
    data = labelled(tmp_path, genome, starts, stored)
    rows = ShiftedRows(data, np.arange(2), 7, seed=1)
    assert not rows.from_genome
    for row, example in itertools.product(range(2), range(40)):
        shift, bases = rows.shift(example), data.sequence(row)
        expected = [bases[i + shift] if 0 <= i + shift < BP else "N" for i in range(BP)]
        assert rows.bases(row, example) == "".join(expected)


def test_rows_that_are_not_trained_on_do_not_matter(tmp_path, genome):
    data = labelled(tmp_path, genome, [300, 2])
    assert ShiftedRows(data, np.array([0]), 7, seed=1).from_genome


@pytest.mark.parametrize("workers", [0, 2])
def test_an_example_depends_on_its_number_and_the_seed_alone(tmp_path, genome, workers):
    data = labelled(tmp_path, genome, range(100, 800, 100))
    tokenizer, rows = RunTokenizer(), np.arange(7)

    def stream(seed, skipped=0):
        shifts = ShiftedRows(data, rows, 7, seed)
        train = RowsOnTheFly(data, rows, tokenizer, max_tokens=99, seed=seed, shifts=shifts)
        once = tokenize_rows(data, rows, tokenizer, max_tokens=99, both_strands=False)
        return [batch.token_ids_BT.tolist() for batch in batches(train, once, workers)][skipped:]

    first = stream(1)
    assert first == stream(1)
    assert first != stream(2)
    shifts = ShiftedRows(data, rows, 7, 1)
    train = RowsOnTheFly(data, rows, tokenizer, max_tokens=99, seed=1, shifts=shifts)
    assert train.drawn_ids(2, "-", 5).tolist() == [
        2, *tokenizer.encode(reverse_complement(shifts.bases(2, 5))), 3
    ]  # fmt: skip


def test_moving_within_is_a_loop():
    for shift in range(-4, 5):
        expected = ["ACGT"[i + shift] if 0 <= i + shift < 4 else "N" for i in range(4)]
        assert moved_within("ACGT", shift) == "".join(expected)
