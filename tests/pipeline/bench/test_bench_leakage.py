"""`bench leakage`: counts on made files by hand, and those of the published label files."""

import csv
import gzip

import pytest

from dna_bigbird.bench.bench_leakage import COLUMNS, bench_leakage
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError

ROWS = {
    "train/negative": ["a,chr1,0,100,+", "b,chr1,0,100,-", "c,chr2,0,100,+", "d,chr1,500,600,+"],
    "train/positive": ["e,chr1,200,300,+", "f,chr1,0,100,+"],
    "test/negative": ["g,chr1,240,340,+", "h,chr1,299,399,+", "i,chr1,300,400,+"],
    "test/positive": ["j,chr2,0,100,-", "k,chr1,200,300,+", "l,chr3,0,100,+", "m,chr1,0,101,+"],
}
"""Test rows: 60 bases of e; one of e; none; c again; e again; none; a, b and f but for one base."""
TASK = "human_enhancers_ensembl"


@pytest.fixture
def data(tmp_path):
    for name, rows in ROWS.items():
        path = tmp_path / "data" / TASK / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(["id,region,start,end,strand", *rows, ""])
        path.write_bytes(gzip.compress(text.encode()))
    return tmp_path / "data"


def test_counts_by_hand(data, tmp_path, capsys):
    output = tmp_path / "leaks.tsv"
    main(["bench", "leakage", "genomic-benchmarks", f"--data={data}", f"--output={output}"])
    (row,) = csv.DictReader(output.open(), delimiter="\t")
    assert tuple(row) == COLUMNS
    assert row == {
        "task": TASK,
        "train": "6",
        "test": "7",
        "test_repeats_training": "2",
        "test_overlaps": "5",
        "test_overlaps_half": "4",
        "test_overlaps_other_class": "4",
        "repeated_in_training": "2",
        "accuracy_by_length": "0.4286",
        "accuracy_of_majority": "0.4286",
    }
    assert capsys.readouterr().out == (
        f"{TASK}: 5 of 7 test rows (71.4%) overlap a training row, 4 by at least half of both, 2 are "
        "training rows again; 2 rows are repeated within training; length alone has an accuracy of 0.429, "
        "the majority class 0.429\n"
    )


def test_what_cannot_be_compared(data, tmp_path):
    output = tmp_path / "leaks.tsv"
    with pytest.raises(
        InputError, match=r"^gue: its label files are not compared as intervals; `dna-"
    ):
        bench_leakage("gue", data, output)
    with pytest.raises(
        InputError, match=r"glue: no such suite; expected one of genomic-benchmarks"
    ):
        bench_leakage("glue", data, output)
    with pytest.raises(
        InputError, match=rf"tasks worm\*: no such task below .*; there are {TASK}$"
    ):
        bench_leakage("genomic-benchmarks", data, output, tasks=["worm*"])
    assert not output.exists()


REAL = {
    "human_nontata_promoters": {
        "test": 9_034, "test_overlaps": 4_449, "test_overlaps_half": 4_292,
    },
    "human_enhancers_ensembl": {
        "test": 30_970, "test_repeats_training": 11_694, "repeated_in_training": 23_341,
    },
    "drosophila_enhancers_stark": {"test": 1_730, "test_overlaps": 460},
    "demo_human_or_worm": {"test": 25_000, "test_overlaps": 1_886},
    "human_ensembl_regulatory": {"test": 57_713, "accuracy_by_length": 0.9152},
}  # fmt: skip


SLOW = ("human_enhancers_ensembl", "human_ensembl_regulatory")
SHARES = {"human_nontata_promoters": "(49.2%)", "drosophila_enhancers_stark": "(26.6%)"}


@pytest.mark.parametrize(
    "task",
    [pytest.param(x, marks=pytest.mark.slow if x in SLOW else ()) for x in REAL],
)
def test_counts_of_the_published_files(real_data, tmp_path, task):
    folder = real_data / "benchmarks" / "genomic_benchmarks"
    result = bench_leakage("genomic-benchmarks", folder, tmp_path / "leaks.tsv", tasks=[task])
    (row,) = result.rows
    assert {key: row[key] for key in REAL[task]} == REAL[task]
    if task in SHARES:
        assert SHARES[task] in result.summary()
    assert list(result.to_dataframe()["task"]) == [task]
