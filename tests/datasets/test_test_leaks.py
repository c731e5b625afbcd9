"""Test rows that other rows give away: small sets in which it is known what is shared."""

import numpy as np
import pytest

from dna_bigbird.bench.leak_free import find_test_leaks
from dna_bigbird.genome import Interval, reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet, write_labelled_set
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.sequences.labels import encode_labels
from dna_bigbird.labelled.sequences.sets import SequenceSplit, build_sequences
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION, SplitConfig
from tests.tiny_bundle import draw_dna

LENGTH = 200
REASONS = ["shares_bases", "nearly_identical", "same_sequence_or_group"]


@pytest.fixture
def leaks_of(tmp_path):
    """Function (rows of role, sequence, interval, group) -> leaks; None for what a row has not."""

    def find(rows):
        entries = [
            SequenceRow(text, (str(i % 2),), f"t:{i}", f"r{i}", group or "", interval)
            for i, (_, text, interval, group) in enumerate(rows)
        ]
        roles = np.array([row[0] for row in rows], dtype=np.int8)
        data = build_sequences(
            entries, encode_labels(entries, ["label"]), roles, SequenceSplit(SplitConfig()),
            max_n_fraction=1, conflicts="drop", duplicates="keep",
        )  # fmt: skip
        path = tmp_path / "set.h5"
        write_labelled_set(path, data, None, assembly="", command="", inputs={})
        return find_test_leaks(LabelledSet(path))

    return find


def random_row(role, seed, group=None):
    return (role, draw_dna(LENGTH, seed), None, group)


def reasons_of(leaks):
    """The reasons of each test row."""
    assert list(leaks.reasons) == REASONS
    return [[name for name in REASONS if leaks.reasons[name][i]] for i in range(len(leaks.rows))]


def test_without_coordinates_each_reason_is_found(leaks_of):
    texts = [draw_dna(LENGTH, seed) for seed in range(5)]
    almost = texts[1][:100] + ("A" if texts[1][100] != "A" else "C") + texts[1][101:]
    rows = [
        (TRAIN, texts[0], None, "g0"),
        (TRAIN, texts[1], None, "g1"),
        (VALIDATION, texts[2], None, "g2"),
        (TEST, reverse_complement(texts[0]), None, "g3"),
        (TEST, almost, None, "g4"),
        (TEST, texts[3], None, "g2"),
        (TEST, texts[4], None, "g5"),
    ]
    leaks = leaks_of(rows)
    assert leaks.rows.tolist() == [3, 4, 5, 6]
    near, same = REASONS[1:]
    assert reasons_of(leaks) == [[near, same], [near], [same], []]
    assert leaks.any.tolist() == [True, True, True, False]
    assert leaks.counts() == {"shares_bases": 0, near: 2, same: 1}


@pytest.mark.parametrize("role", [TRAIN, VALIDATION])
@pytest.mark.parametrize("lengths", [(LENGTH, LENGTH), (LENGTH, 120)], ids=["one", "several"])
def test_one_shared_base_is_enough(leaks_of, role, lengths):
    """The test row ends one base after the start of the other, or at it, or is elsewhere."""
    first, second = lengths
    rows = [
        (TRAIN, draw_dna(LENGTH, 9), Interval("chr2", 5_000, 5_000 + LENGTH), None),
        (role, draw_dna(first, 0), Interval("chr1", 1_000, 1_000 + first, "-"), None),
        (TEST, draw_dna(second, 1), Interval("chr1", 1_001 - second, 1_001), None),
        (TEST, draw_dna(second, 2), Interval("chr1", 1_000 - second, 1_000), None),
        (TEST, draw_dna(second, 3), Interval("chr1", 999 + first, 999 + first + second), None),
        (TEST, draw_dna(second, 4), Interval("chr3", 1_000, 1_000 + second), None),
    ]
    leaks = leaks_of(rows)
    assert reasons_of(leaks) == [REASONS[:1], [], REASONS[:1], []]
    assert leaks.counts() == dict(zip(REASONS, (2, 0, 0), strict=True))


def test_a_row_is_counted_by_its_first_reason(leaks_of):
    """The same row again shares bases, is nearly identical, and is the same sequence."""
    row = (draw_dna(LENGTH, 0), Interval("chr1", 100, 100 + LENGTH), None)
    copy = (row[0], Interval("chr2", 100, 100 + LENGTH), None)
    leaks = leaks_of([(TRAIN, *row), (TEST, *row), (TEST, *copy)])
    assert reasons_of(leaks) == [REASONS, REASONS[1:]]
    assert leaks.counts() == dict(zip(REASONS, (1, 1, 0), strict=True))


def test_test_rows_that_share_with_each_other_alone_are_no_leak(leaks_of):
    text = draw_dna(LENGTH, 0)
    leaks = leaks_of([random_row(TRAIN, 1), (TEST, text, None, "a"), (TEST, text, None, "a")])
    assert leaks.any.tolist() == [False, False]
    assert sum(leaks.counts().values()) == 0
