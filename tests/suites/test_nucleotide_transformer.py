"""FASTA files and tables of the Nucleotide Transformer tasks. The suites' own files could not be had here: small
files in the exact format are written, from real hg19 where a test says so.
"""

import re

import pytest

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.nucleotide_transformer import ORIGINAL, REVISED
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.sequences.sets import UNASSIGNED
from dna_bigbird.labelled.splits import TEST

NO_GENOMES = Genomes({})
FASTA = ">seq a|b|0\nACGT\nacgn\n>seq 2|1\nGGCC\n"
TABLE = "sequence,name,label,task\nACGT,x|0,0,H2AFZ\nGGCC,y|1,1,enhancers\nTTTT,z|1,1,H2AFZ\n"


def read_one(suite, folder, name):
    (task,) = (task for task in suite.tasks(folder) if task.name == name)
    return suite.read(folder, task, NO_GENOMES)


def write_fasta(write, task, train=FASTA, test=FASTA):
    write(f"{task}/train.fna", train)
    write(f"{task}/test.fna", test)


def test_tasks_and_metrics_of_both_suites(write, tmp_path):
    marks = [
        "H3",
        "H3K14ac",
        "H3K36me3",
        "H3K4me1",
        "H3K4me2",
        "H3K4me3",
        "H3K79me3",
        "H3K9ac",
        "H4",
        "H4ac",
    ]
    others = ["enhancers", "enhancers_types", "promoter_all", "promoter_no_tata", "promoter_tata"]
    splice = [f"splice_sites_{name}" for name in ("acceptors", "all", "donors")]
    for task in [*marks, *others, *splice]:
        write_fasta(write, task)
    metrics = {task.name: task.metric for task in ORIGINAL.tasks(tmp_path)}
    assert sorted(metrics) == sorted([*marks, *others, *splice])
    assert {metrics[name] for name in [*marks, "enhancers", "enhancers_types"]} == {"mcc"}
    assert metrics["splice_sites_all"] == "accuracy"
    assert {metrics[name] for name in (*others[2:], splice[0], splice[2])} == {"macro_f1"}


def test_all_tasks_of_the_revised_suite_have_the_matthews_correlation(write, tmp_path):
    for task in ("H2AFZ", "H4K20me1", "promoter_tata", "splice_sites_all"):
        write_fasta(write, task)
    assert {task.metric for task in REVISED.tasks(tmp_path)} == {"mcc"}


def test_a_folder_of_the_other_suite_is_refused(write, tmp_path):
    """Both have H3K4me1, with other rows."""
    write_fasta(write, "H3K4me1")
    assert [task.name for task in ORIGINAL.tasks(tmp_path)] == ["H3K4me1"]
    assert [task.name for task in REVISED.tasks(tmp_path)] == ["H3K4me1"]
    write_fasta(write, "H2AFZ")
    with pytest.raises(InputError, match="H2AFZ is a task of nt-revised, not of nt, and both have"):
        ORIGINAL.tasks(tmp_path)


def test_labels_follow_the_last_bar_of_the_whole_header(write, tmp_path):
    write_fasta(write, "H3")
    rows = read_one(ORIGINAL, tmp_path, "H3")
    assert [(row.sequence, row.labels[0], row.name) for row in rows.rows] == [
        ("ACGTACGN", "0", "train:1"),
        ("GGCC", "1", "train:4"),
        ("ACGTACGN", "0", "test:1"),
        ("GGCC", "1", "test:4"),
    ]
    assert rows.roles.tolist() == [UNASSIGNED, UNASSIGNED, TEST, TEST]
    assert rows.rows[3].where.endswith("H3/test.fna:4")
    assert rows.counts == {"rows_read": 4}


def test_repeated_names_and_compressed_files_are_read(write, tmp_path):
    write("H3/train.fna.gz", ">a|1\nACGT\n>a|1\nACGT\n>a|0\nGGGG\n")
    write("H3/test.fna", FASTA)
    rows = read_one(ORIGINAL, tmp_path, "H3")
    assert [row.labels[0] for row in rows.rows[:3]] == ["1", "1", "0"]


def test_real_sequences_come_back_as_a_loop_reads_them(write, tmp_path, human_dna):
    def fasta(first):
        records = [(i % 3, human_dna(first + 700 * i, 400)) for i in range(12)]
        lines = [
            f">chr22:{i}|{label}\n{dna[:60]}\n{dna[60:]}\n"
            for i, (label, dna) in enumerate(records)
        ]
        return "".join(lines)

    write_fasta(write, "splice_sites_all", fasta(17_000_000), fasta(18_000_000))
    rows = read_one(REVISED, tmp_path, "splice_sites_all")
    expected = []
    for part in ("train", "test"):
        text = (tmp_path / f"splice_sites_all/{part}.fna").read_text()
        for header, body in re.findall(r">(.*)\n([^>]*)", text):
            expected.append((body.replace("\n", "").upper(), header.split("|")[-1]))
    assert [(row.sequence, row.labels[0]) for row in rows.rows] == expected
    assert len(expected) == 24


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("below", ["", "data/"])
def test_one_table_for_all_tasks(write, tmp_path, ending, below):
    text = TABLE.replace(",", "\t") if ".tsv" in ending else TABLE
    for part in ("train", "test"):
        write(f"{below}{part}-00000-of-00001{ending}", text)
    assert [task.name for task in REVISED.tasks(tmp_path)] == ["H2AFZ", "enhancers"]
    rows = read_one(REVISED, tmp_path, "H2AFZ")
    assert [(row.sequence, row.labels[0]) for row in rows.rows] == [
        ("ACGT", "0"),
        ("TTTT", "1"),
    ] * 2
    assert rows.rows[1].where.endswith(":4")


def test_parts_of_a_table_are_read_one_after_the_other(write, tmp_path):
    for number in range(2):
        write(f"train-0000{number}-of-00002.csv", TABLE)
    write("test.csv", TABLE)
    assert len(read_one(REVISED, tmp_path, "H2AFZ").rows) == 6


def test_parquet_is_read_as_the_same_table_in_text(write, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    for part in ("train", "test"):
        path = write(f"text/{part}.csv", TABLE)
        parquet.write_table(csv.read_csv(path), tmp_path / f"{part}.parquet")
    rows = read_one(REVISED, tmp_path, "H2AFZ").rows
    assert [(row.sequence, row.labels) for row in rows] == [
        (row.sequence, row.labels) for row in read_one(REVISED, tmp_path / "text", "H2AFZ").rows
    ]
    assert rows[1].where.endswith("train.parquet:3")
    (tmp_path / "test.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"test\.parquet: this is not a whole Parquet file"):
        REVISED.tasks(tmp_path)
    parquet.write_table(pyarrow.table({"sequence": ["A"]}), tmp_path / "test.parquet")
    with pytest.raises(InputError, match=r"test\.parquet: no column is called task"):
        REVISED.tasks(tmp_path)


def test_a_table_in_the_folder_of_the_task_needs_no_task_column(write, tmp_path):
    for part in ("train", "test"):
        write(f"enhancers_types/{part}.csv", "sequence,label\nACGT,2\nGGCC,0\n")
    rows = read_one(ORIGINAL, tmp_path, "enhancers_types")
    assert [row.labels[0] for row in rows.rows] == ["2", "0"] * 2
    assert rows.counts == {"rows_read": 4, "classes_without_training_rows": 1}
    write("enhancers_types/test.csv", "sequence,label\nACGT,2\n")
    with pytest.raises(
        InputError, match=r"test\.csv: no row of class 0, which \S*train\.csv:3 has"
    ):
        read_one(ORIGINAL, tmp_path, "enhancers_types")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"test\.fna: no sequence in it; expected FASTA records that start with >NAME\|LABEL"),
        ("ACGT\n>a|1\nACGT\n", r"test\.fna:1: 'ACGT' before any header"),
        (">a|1\nACGT\n>b\nACGT\n", r"test\.fna:3: the header '>b' has no label; expected >NAME\|LABEL"),
        (">a|enhancer\nACGT\n", r"test\.fna:1: the label is 'enhancer'; expected a whole number from 0 to 1"),
        (">a|0\nACGT\n>b|2\nACGT\n", r"test\.fna:3: the label is '2'; expected a whole number from 0 to 1"),
        (">a|0\nACGT\n>b|1\n", r"test\.fna:3: no sequence; expected letters of DNA"),
        (">a|0\nACGT\n>b|1\n>c|1\nACGT\n", r"test\.fna:3: no sequence; expected letters of DNA"),
        (">a|0\nACGT\n>b|1\nAC-T\n", r"test\.fna:3: .*'-' at position 3 is not a DNA letter"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_fasta_file_is_named_with_its_row(write, tmp_path, text, message):
    write_fasta(write, "H3", test=text)
    with pytest.raises(InputError, match=message) as caught:
        read_one(ORIGINAL, tmp_path, "H3")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sequence,name,label\nACGT,a,1\n", r"test\.csv:1: no column is called task; the header is"),
        (TABLE.replace("TTTT,z|1,1", "TTTT,z|1,one"), r"test\.csv:4: the label is 'one'; expected a whole"),
        (TABLE.replace("H2AFZ", "H3K9me3"), r"no test row of H2AFZ; is the copy complete\?"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_table_is_named_with_its_row(write, tmp_path, text, message):
    (task,) = (
        task for task in REVISED.tasks(write("a/test.csv", TABLE).parent) if task.name == "H2AFZ"
    )
    write("train.csv", TABLE)
    write("test.csv", text)
    with pytest.raises(InputError, match=message):
        REVISED.read(tmp_path, task, NO_GENOMES)


def test_a_missing_file_and_a_folder_without_tasks(write, tmp_path):
    with pytest.raises(
        InputError, match=r"no task of nt in it; expected files such as H3K4me1/train\.fna"
    ):
        ORIGINAL.tasks(tmp_path)
    write("H3/train.fna", FASTA)
    with pytest.raises(
        InputError, match=r"H3: no test file; expected test\.fna in the folder of the task"
    ):
        read_one(ORIGINAL, tmp_path, "H3")
