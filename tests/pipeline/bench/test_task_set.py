"""The set of a task has every row of the suite, in the splits that the suite names."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dna_bigbird.bench import label_task
from dna_bigbird.bench.suites.suite import LabelledRows, Task, find_suite
from dna_bigbird.bench.trainings import task_data, write_task_set
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval, reverse_complement
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.sequences.sets import UNASSIGNED
from dna_bigbird.labelled.splits import SPLITS, TEST, TRAIN, VALIDATION
from tests.tiny_bundle import draw_dna

TASK = Task("toy", "accuracy")


def rows_of(texts, roles, *, intervals=None, counts=None):
    labels = ("a", "b")
    rows = [
        SequenceRow(text, (labels[i % 2],), f"f:{i}", f"r{i}", "", (intervals or {}).get(i))
        for i, text in enumerate(texts)
    ]
    return LabelledRows(rows, np.array(roles, dtype=np.int8), "multi-class", counts=counts or {})


def sequences(count):
    return [draw_dna(50 + i % 3, i) for i in range(count)]


def names_by_split(data):
    return {
        name: [data.names[i] for i in np.flatnonzero(data.split == number)]
        for number, name in enumerate(SPLITS)
    }


def test_splits_of_the_suite_stay_and_nothing_is_dropped():
    """Equal sequences within training, in training and test, and with another label."""
    texts = sequences(12)
    texts[2] = texts[0]
    texts[3] = texts[0]  # class b, the others are a
    texts[10] = texts[0]
    roles = [TRAIN] * 6 + [VALIDATION] * 3 + [TEST] * 3
    data = task_data(TASK, rows_of(texts, roles))
    assert data.split.tolist() == roles
    assert data.names == [f"r{i}" for i in range(12)]
    assert [data.counts[f"rows_{name}"] for name in SPLITS] == [6, 3, 3]
    assert "left_out_duplicates" not in data.counts


@pytest.mark.parametrize("has_validation", [False, True])
def test_without_validation_rows_a_tenth_of_training_is_taken_whole_groups_each(has_validation):
    """Places 0 to 99 are 50 sequences, each also as its reverse complement; 100 to 109 overlap."""
    half = sequences(50)
    texts = (
        half + [reverse_complement(x) for x in half] + [draw_dna(60, 900 + i) for i in range(30)]
    )
    intervals = {i: Interval(f"chr{i}", 0, len(x)) for i, x in enumerate(texts)}
    intervals |= {i: Interval("chrX", 10 * i, 10 * i + 60) for i in range(100, 110)}
    other = VALIDATION if has_validation else UNASSIGNED
    roles = [UNASSIGNED] * 110 + [other] * 10 + [TEST] * 10
    data = task_data(TASK, rows_of(texts, roles, intervals=intervals))
    split = data.split
    assert split[120:].tolist() == [TEST] * 10
    assert split[:50].tolist() == split[50:100].tolist()
    assert len(set(split[100:110].tolist())) == 1
    counts = Counter(split.tolist())
    if has_validation:
        assert counts == {TRAIN: 110, VALIDATION: 10, TEST: 10}
    else:
        assert 6 <= counts[VALIDATION] <= 18
        assert names_by_split(data) == names_by_split(
            task_data(TASK, rows_of(texts, roles, intervals=intervals))
        )


def test_rows_that_the_reader_left_out_are_among_the_rows_read():
    counts = {"rows_read": 20, "left_out_not_lifted": 8}
    data = task_data(TASK, rows_of(sequences(12), [TRAIN] * 8 + [TEST] * 4, counts=counts))
    assert data.counts == counts | {
        "left_out_with_n": 0,
        "left_out_across_splits": 0,
        "rows_train": 8,
        "rows_validation": 0,
        "rows_test": 4,
    }
    own = task_data(TASK, rows_of(sequences(12), [TRAIN] * 8 + [TEST] * 4))
    assert own.counts["rows_read"] == 12


def test_unknown_bases_are_kept_but_not_alone():
    texts = sequences(8)
    texts[1] = "N" * 49 + "A"
    texts[2] = "N" * 50
    data = task_data(TASK, rows_of(texts, [TRAIN] * 4 + [TEST] * 4))
    assert data.counts["left_out_with_n"] == 1
    assert "r1" in data.names
    assert "r2" not in data.names


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ([TRAIN] * 4, r"^toy: no test row is left \(9 rows read; left out: 5 not lifted\)$"),
        ([TEST] * 4, r"^toy: no training row is left \(9 rows read; left out: 5 not lifted\)$"),
    ],
)
def test_a_part_without_rows(roles, message):
    counts = {"rows_read": 9, "left_out_not_lifted": 5}
    with pytest.raises(InputError, match=message):
        task_data(TASK, rows_of(sequences(4), roles, counts=counts))


def test_the_file_has_the_rows_and_changes_with_them(tmp_path):
    """Intervals that begin at 0 are coordinates too."""
    texts = sequences(8)
    intervals = {i: Interval("chr1", 200 * i, 200 * i + len(x)) for i, x in enumerate(texts)}
    rows = rows_of(texts, [TRAIN] * 6 + [TEST] * 2, intervals=intervals)
    suite = find_suite("genomic-benchmarks")
    labelled = write_task_set(tmp_path / "a.h5", suite, TASK, rows)
    assert labelled.has_coordinates
    assert [labelled.sequence(i) for i in range(8)] == texts
    assert [labelled.interval(i) for i in range(8)] == [row.interval for row in rows.rows]
    again = write_task_set(tmp_path / "b.h5", suite, TASK, rows)
    assert again.path.read_bytes() == labelled.path.read_bytes()
    rows.rows[7] = replace(rows.rows[7], labels=("a",))
    write_task_set(tmp_path / "b.h5", suite, TASK, rows)
    assert (tmp_path / "b.h5").read_bytes() != labelled.path.read_bytes()


@pytest.mark.parametrize("step_bp", [10, 0])
def test_the_length_is_a_source_where_sequences_differ_in_it(tmp_path, step_bp):
    """Class a has 60 bases, class b 60 or 70."""
    texts = [draw_dna(60 + step_bp * (i % 2), i) for i in range(40)]
    rows = rows_of(texts, [UNASSIGNED] * 30 + [TEST] * 10)
    labelled = write_task_set(tmp_path / "set.h5", find_suite("gue"), TASK, rows)
    test = labelled.rows("test")
    scores = label_task._untrained(labelled, test)
    assert len({tuple(row) for row in scores["majority"].tolist()}) == 1
    assert list(scores) == ["majority", "length"][: 1 + bool(step_bp)]
    if step_bp:
        assert scores["length"].tolist() == labelled.labels_of(test).tolist()
