"""GUE files as the authors' code reads them. The suite's own files could not be had here: small files in the
exact format are written, from real hg19 where a test says so.
"""

import csv

import numpy as np
import pytest

from dna_bigbird.bench.suites import gue
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION

NO_GENOMES = Genomes({})
ROWS = "sequence,label\nACGT,0\nacgn,1\n"


def write_task(write, folder, **texts):
    for part in ("train", "dev", "test"):
        write(f"{folder}/{part}.csv", texts.get(part, ROWS))


def read_one(tmp_path, name="emp_H3"):
    (task,) = (task for task in gue.tasks(tmp_path) if task.name == name)
    return gue.read(tmp_path, task, NO_GENOMES)


def test_the_28_tasks_of_the_authors_script(write, tmp_path):
    groups = {
        "EMP": gue.MARKS,
        "prom": [f"prom_{size}_{x}" for size in (300, "core") for x in ("all", "notata", "tata")],
        "splice": ["reconstructed"],
        "virus": ["covid"],
        "mouse": list("01234"),
        "tf": list("01234"),
    }
    for group, names in groups.items():
        for name in names:
            write_task(write, f"GUE/{group}/{name}")
    tasks = gue.tasks(tmp_path)
    assert len(tasks) == len({task.name for task in tasks}) == 28
    assert {task.name for task in tasks if task.metric == "macro_f1"} == {"virus_covid"}
    assert {task.metric for task in tasks} == {"mcc", "macro_f1"}
    assert all(len(task.published) == 3 for task in tasks)
    assert gue.tasks(tmp_path / "GUE") == tasks


def test_published_scores_are_those_of_the_table(write, tmp_path):
    """A few cells of the table, typed again from the authors' picture."""
    for folder in ("EMP/H3K4me2", "mouse/0", "virus/covid"):
        write_task(write, folder)
    scores = {
        (task.name, score.model): score.value
        for task in gue.tasks(tmp_path)
        for score in task.published
    }
    assert scores["emp_H3K4me2", "DNABERT-2"] == 0.3113
    assert scores["mouse_0", "NT-2500M-multi"] == 0.6331
    assert scores["virus_covid", "DNABERT-2, pretrained further on the training sets"] == 0.6849


@pytest.mark.parametrize(
    "folder", ["GUE/EMP/H3", "EMP/H3", "GUE/GUE/EMP/H3", "emp_H3", "GUE/emp_H3"]
)
def test_folders_as_archives_and_copies_have_them(write, tmp_path, folder):
    write_task(write, folder)
    rows = read_one(tmp_path)
    assert [row.sequence for row in rows.rows] == ["ACGT", "ACGN"] * 3
    assert [row.labels for row in rows.rows] == [("0",), ("1",)] * 3
    assert rows.roles.tolist() == [TRAIN, TRAIN, VALIDATION, VALIDATION, TEST, TEST]
    assert rows.label_type == "multi-class"
    assert rows.counts == {"rows_read": 6}


def test_real_sequences_come_back_as_a_csv_module_reads_them(write, tmp_path, human_dna):
    texts = {}
    for number, part in enumerate(("train", "dev", "test")):
        lines = [
            f"{human_dna(17_000_000 + 1000 * (10 * number + i), 500)},{i % 2}" for i in range(10)
        ]
        texts[part] = "sequence,label\n" + "\n".join(lines) + "\n"
    write_task(write, "EMP/H3", **texts)
    rows = read_one(tmp_path)
    expected = []
    for part in ("train", "dev", "test"):
        with open(tmp_path / f"EMP/H3/{part}.csv", newline="") as stream:
            expected += [(x["sequence"].upper(), x["label"]) for x in csv.DictReader(stream)]
    assert [(row.sequence, row.labels[0]) for row in rows.rows] == expected
    assert len(expected) == 30


def test_blanks_after_commas_columns_in_another_order_and_crlf(write, tmp_path):
    """The README of the authors shows `sequence, label` and `ACGTCAG, 1 `."""
    write_task(write, "EMP/H3", train="label, sequence\r\n1 , ACGT\r\n\r\n0, GGCC\r\n")
    rows = read_one(tmp_path).rows
    assert [(row.sequence, row.labels[0], row.name) for row in rows[:2]] == [
        ("ACGT", "1", "train:2"),
        ("GGCC", "0", "train:4"),
    ]
    assert rows[1].where.endswith("EMP/H3/train.csv:4")


def test_a_class_without_test_rows_is_refused_and_one_without_training_rows_counted(
    write, tmp_path
):
    every = "sequence,label\n" + "".join(f"ACG{'ACGT'[i % 4]},{i}\n" for i in range(3))
    write_task(write, "splice/reconstructed", train=every, dev=every)
    message = r"test\.csv: no row of class 2, which \S*train\.csv:4 has; expected test rows of every class"
    with pytest.raises(InputError, match=message):
        read_one(tmp_path, "splice_reconstructed")
    write_task(write, "splice/reconstructed", test=every, dev=every)
    assert read_one(tmp_path, "splice_reconstructed").counts["classes_without_training_rows"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seq,label\nACGT,0\n", r"test\.csv:1: no column is called sequence; the header is seq,label"),
        ("sequence,class\nACGT,0\n", r"test\.csv:1: no column is called label; .* expected sequence,label"),
        ("sequence,label,label\nACGT,0,1\n", r"test\.csv:1: two columns are called label"),
        ("ACGT,0\n", r"test\.csv:1: no column is called sequence; the header is ACGT,0"),
        ("", r"test\.csv:1: the file is empty; expected a header with sequence,label"),
        ("sequence,label\n", r"test\.csv: no row after the header"),
        ("sequence,label\nACGT,0\nACGT\n", r"test\.csv:3: 1 cell; the header has 2 columns"),
        ("sequence,label\nACGT,promoter\n", r"test\.csv:2: the label is 'promoter'; expected a whole number from 0 to 1"),
        ("sequence,label\nACGT,1\nACGT,2\n", r"test\.csv:3: the label is '2'; expected a whole number from 0 to 1"),
        ("sequence,label\nACGT,1.5\n", r"test\.csv:2: the label is '1\.5'"),
        ("sequence,label\nACGT,-1\n", r"test\.csv:2: the label is '-1'"),
        ("sequence,label\nACGT,\n", r"test\.csv:2: the label is ''"),
        ("sequence,label\n,1\n", r"test\.csv:2: no sequence; expected letters of DNA"),
        ("sequence,label\nACGT,1\nACXT,1\n", r"test\.csv:3: .*'X' at position 3 is not a DNA letter"),
        ("label,sequence\nACGT,1\n", r"test\.csv:2: the label is 'ACGT'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_and_row(write, tmp_path, text, message):
    write_task(write, "EMP/H3", test=text)
    with pytest.raises(InputError, match=message) as caught:
        read_one(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_without_tasks(write, tmp_path):
    with pytest.raises(
        InputError, match="no task of GUE in it; expected folders such as GUE/EMP/H3"
    ):
        gue.tasks(tmp_path)
    write("EMP/H3/train.csv", ROWS)
    with pytest.raises(InputError, match=r"EMP/H3: no dev\.csv; expected train\.csv, dev\.csv and"):
        read_one(tmp_path)


def test_roles_are_small_integers(write, tmp_path):
    write_task(write, "EMP/H3")
    assert read_one(tmp_path).roles.dtype == np.int8
