"""All bins of a window at once: which windows are read, and what each predicts, on either strand."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.batches import pack, unpack
from dna_bigbird.genome import Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.chromatin.bin_groups import BinGroups
from dna_bigbird.labelled.labelled_data import LabelledData, write_labelled_set
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.tokenized import RowsOnTheFly, tokenize_rows
from dna_bigbird.training.data_modules import labelled_data
from tests.datasets.test_data_modules import LetterTokenizer

BIN, WINDOW = 10, 90
CHR1 = [10, 11, 13, 14, 17, 40, 43, 44, 45, 46]
CHR2 = [12, 30]


def make(tmp_path, toy, bins, *, window=WINDOW, shift=0, strand="+", stored=None):
    """A set of bins (chromosome, number), each in the middle of its window, with five labels."""
    rng = np.random.default_rng(5)
    starts = np.array([number * BIN for _, number in bins])
    first = starts - (window - BIN) // 2 + shift
    data = LabelledData(
        task="chromatin",
        window_bp=window,
        label_names=[f"l{i}" for i in range(5)],
        label_groups=["g"] * 5,
        intervals=[
            Interval(chrom, int(s), int(s) + window, strand)
            for (chrom, _), s in zip(bins, first, strict=True)
        ],
        names=[],
        labels=rng.integers(0, 2, (len(bins), 5)),
        split=np.zeros(len(bins)),
        bin_starts=starts,
        bin_bp=BIN,
        **(stored or {}),
    )
    path = tmp_path / "s.h5"
    write_labelled_set(path, data, toy, assembly="toy", command="", inputs={})
    return LabelledSet(path, toy)


@pytest.fixture
def made(tmp_path, toy):
    """Two chromosomes, rows out of order."""
    bins = [("chr1", n) for n in CHR1] + [("chr2", n) for n in CHR2]
    order = np.random.default_rng(1).permutation(len(bins))
    return make(tmp_path, toy, [bins[i] for i in order])


def numbers_of(labelled, rows):
    chroms = labelled.intervals.chromosomes
    return [
        (chroms[labelled.intervals.chrom[row]], int(labelled.bin_starts[row]) // BIN)
        for row in rows
    ]


def drawn(labelled, rows):
    """Windows as text: chromosome, centre, and the bins that it predicts."""
    groups = BinGroups.of(labelled, rows)
    lines = []
    for index, centre in enumerate(groups.centres):
        here = slice(groups.offsets[index], groups.offsets[index + 1])
        ((chrom, number),) = numbers_of(labelled, [centre])
        bins = [(chrom, number + b) for b in groups.bins[here].tolist()]
        assert bins == numbers_of(labelled, groups.rows[here])
        lines.append(f"{chrom} {number}: {' '.join(str(n) for _, n in bins)}")
    return "\n".join(sorted(lines))


def test_the_cover_by_hand(made):
    """90 bp: a window predicts bins up to 22 bp from its centre, 2 on either side."""
    assert drawn(made, np.arange(12)) == (
        "chr1 11: 10 11 13\n"
        "chr1 14: 13 14\n"
        "chr1 17: 17\n"
        "chr1 40: 40\n"
        "chr1 45: 43 44 45 46\n"
        "chr2 12: 12\n"
        "chr2 30: 30"
    )


def test_other_rows_are_neither_read_nor_predicted(made):
    """Bins 11 and 45 belong to another split: their windows and labels are not used."""
    numbers = numbers_of(made, range(12))
    rows = np.array([i for i, each in enumerate(numbers) if each[1] not in (11, 45)])
    assert drawn(made, rows) == (
        "chr1 10: 10\n"
        "chr1 14: 13 14\n"
        "chr1 17: 17\n"
        "chr1 40: 40\n"
        "chr1 44: 43 44 46\n"
        "chr2 12: 12\n"
        "chr2 30: 30"
    )


def test_drawn_rows_are_covered_and_no_two_windows_could_be_one(tmp_path, toy):
    rng = np.random.default_rng(3)
    numbers = np.sort(rng.choice(np.arange(10, 1500), 400, replace=False))
    labelled = make(tmp_path, toy, [("chr1", int(n)) for n in numbers], window=170)
    groups = BinGroups.of(labelled, np.arange(400))
    assert set(groups.rows.tolist()) == set(range(400))
    assert set(groups.centres.tolist()) <= set(range(400))
    assert len(set(groups.centres.tolist())) == len(groups) < 200
    assert np.abs(groups.bins).max() == 4
    for index in range(len(groups)):
        here = slice(groups.offsets[index], groups.offsets[index + 1])
        centre = numbers[groups.centres[index]]
        expected = np.flatnonzero(np.abs(numbers - centre) <= 4)
        assert groups.rows[here].tolist() == expected.tolist()


def stream(train, validation, groups, *, workers=0, step=0):
    data = labelled_data(
        train, validation, seed=1, batch_size=3, both_strands=True, workers=workers, groups=groups
    )
    data.trainer = SimpleNamespace(global_step=step, world_size=1, global_rank=0)
    return data


def take(loader, count):
    batches = iter(loader)
    return [next(batches) for _ in range(count)]


def test_labels_are_those_of_the_bases_on_either_strand(made):
    """Each named bin of a batch is looked up by the bases that its window has there."""
    rows = np.arange(12)
    groups = BinGroups.of(made, rows)
    train = tokenize_rows(
        made, groups.centres, LetterTokenizer(), max_tokens=200, both_strands=True
    )
    rows_of = {}
    for row in rows:
        start = int(made.bin_starts[row]) - made.interval(row).start
        bases = made.sequence(row)[start : start + BIN]
        assert bases not in rows_of
        rows_of[bases] = row
    seen, backwards = set(), 0
    for batch in take(stream(train, train, groups).train_dataloader(), 20):
        windows = batch.bins_P2[:, 0].tolist()
        assert windows == sorted(windows)
        assert set(windows) == {0, 1, 2}
        assert len(batch.labels_BL) == len(windows)
        for (window, number), labels in zip(batch.bins_P2.tolist(), batch.labels_BL, strict=True):
            letters = "".join("ACGTN"[i - 5] for i in batch.token_ids_BT[window, 1:-1].tolist())
            at = (WINDOW - BIN) // 2 + number * BIN
            bases = letters[at : at + BIN]
            is_back = bases not in rows_of
            row = rows_of[reverse_complement(bases) if is_back else bases]
            assert labels.tolist() == made.labels[row].tolist()
            seen.add((int(batch.examples_B[window]), row))
            backwards += is_back and number != 0
    pairs = {
        (int(c), int(r))
        for i, c in enumerate(groups.centres)
        for r in groups.rows[groups.offsets[i] : groups.offsets[i + 1]]
    }
    assert seen == pairs
    assert backwards > 10


@pytest.mark.parametrize("workers", [0, 2])
def test_the_stream_is_a_function_of_the_step_and_of_nothing_else(made, workers):
    groups = BinGroups.of(made, np.arange(12))
    once = tokenize_rows(made, groups.centres, LetterTokenizer(), max_tokens=200, both_strands=True)
    lazy = RowsOnTheFly(made, groups.centres, LetterTokenizer(), max_tokens=200)
    expected = take(stream(once, once, groups).train_dataloader(), 12)
    found = take(stream(lazy, once, groups, workers=workers, step=5).train_dataloader(), 7)
    for one, other in zip(expected[5:], found, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(one, other, strict=True))
        again = unpack(pack(one))
        assert all(torch.equal(x, y) for x, y in zip(one, again, strict=True))
    (validation, *_) = take(stream(once, once, groups).val_dataloader(), 1)
    assert len(validation.bins_P2) == 0
    assert len(validation.labels_BL) == 3


@pytest.mark.parametrize("settings", [{"shift": 10}, {"strand": "-"}])
def test_other_rows_are_refused(tmp_path, toy, settings):
    labelled = make(tmp_path, toy, [("chr1", 20), ("chr1", 21)], **settings)
    with pytest.raises(
        InputError, match=r"s\.h5: --head.bins_at_once true needs the bins of .* in the middle"
    ):
        BinGroups.of(labelled, np.arange(2))


def test_windows_of_a_single_bin_are_refused(tmp_path, toy):
    labelled = make(tmp_path, toy, [("chr1", 20), ("chr1", 21)], window=30)
    with pytest.raises(
        InputError, match="needs windows of at least 40 bp for bins of 10; these have 30"
    ):
        BinGroups.of(labelled, np.arange(2))
