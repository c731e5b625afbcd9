"""BED and HDF5 files of BEND. The suite's own files could not be had here: small files in the exact format are
written, with a seeded toy genome and with real hg19.
"""

import csv

import h5py
import numpy as np
import pytest

from dna_bigbird.bench.suites import bend
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION

HEADER = "chromosome\tstart\tend\tstrand\tlabel\tsplit\n"
PLAIN = "chromosome\tstart\tend\tsplit\n"
ROWS = (
    HEADER
    + "chr1\t0\t512\t+\t1,4\ttrain\n"
    + "chr1\t100\t612\t-\t\tvalid\n"
    + "chr1\t3000\t3512\t+\t0\ttest\n"
)


@pytest.fixture
def read_task(tmp_path, toy_genome):
    """Function (task) -> its rows, on the toy genome."""

    def read(name="cpg_methylation", **options):
        genomes = Genomes({"GRCh38": toy_genome[0], "GRCh37": toy_genome[0]}, **options)
        (task,) = (task for task in bend.tasks(tmp_path) if task.name == name)
        return bend.read(tmp_path, task, genomes)

    return read


def write_bed(write, text, task="cpg_methylation"):
    return write(f"data/{task}/{task}.bed", text)


def write_labels(path, values, name="labels"):
    with h5py.File(path.with_suffix(".hdf5"), "w") as file:
        file[name] = values


def test_labels_of_the_bed_file(write, read_task, toy_genome):
    write_bed(write, ROWS)
    rows = read_task()
    bases = toy_genome[1]
    assert [row.sequence for row in rows.rows] == [
        bases[:512],
        reverse_complement(bases[100:612]),
        bases[3000:3512],
    ]
    assert ["".join(row.labels) for row in rows.rows] == ["0100100", "0000000", "1000000"]
    assert rows.roles.tolist() == [TRAIN, VALIDATION, TEST]
    assert (rows.label_type, rows.assembly) == ("multi-label", "GRCh38")
    assert rows.label_names == tuple(f"label_{i}" for i in range(7))
    assert [(row.interval.start, row.interval.strand) for row in rows.rows] == [
        (0, "+"),
        (100, "-"),
        (3000, "+"),
    ]


def test_labels_of_an_hdf5_file_with_the_same_rows(write, read_task):
    lines = [f"chr1\t{start}\t{start + 512}\ttrain\n" for start in range(0, 3000, 100)]
    path = write_bed(write, PLAIN + "".join(lines), "histone_modification")
    values = np.random.default_rng(0).integers(0, 2, (len(lines), 18))
    write_labels(path, values)
    rows = read_task("histone_modification")
    assert np.array_equal([[int(x) for x in row.labels] for row in rows.rows], values)


def test_more_rows_than_fit_into_memory(write, read_task, monkeypatch):
    """Three rows of seven labels; rows that are not on the pieces do not count."""
    write_bed(write, ROWS + "chr2\t0\t512\t+\t1\ttest\n")
    monkeypatch.setattr("dna_bigbird.bench.suites.suite.MOST_LABELS", 21)
    assert len(read_task(pieces=True).rows) == 3
    monkeypatch.setattr("dna_bigbird.bench.suites.suite.MOST_LABELS", 20)
    with pytest.raises(
        InputError, match=r"cpg_methylation\.bed: more than 2 rows of 7 labels, too"
    ):
        read_task(pieces=True)


def test_tasks_with_assembly_and_metric(write, tmp_path):
    for task in bend.LABEL_SETS:
        write_bed(write, ROWS, task)
    assert [(task.name, task.assembly, task.metric) for task in bend.tasks(tmp_path)] == [
        ("chromatin_accessibility", "GRCh37", "macro_auroc"),
        ("histone_modification", "GRCh38", "macro_auroc"),
        ("cpg_methylation", "GRCh38", "macro_auroc"),
    ]


def test_tasks_that_are_not_supported_are_named(write, tmp_path):
    with pytest.raises(
        InputError, match=r"no task of BEND in it; expected files such as data/hist\S+$"
    ):
        bend.tasks(tmp_path)
    write_bed(write, PLAIN + "chr1\t0\t14000\ttrain\n", "gene_finding")
    with pytest.raises(
        InputError, match="not supported is gene_finding: it has one of nine classes"
    ):
        bend.tasks(tmp_path)


def test_real_windows_come_back_as_a_loop_reads_them(write, tmp_path, real_data, human_dna):
    """BEND's chromatin accessibility is on GRCh37, with chromosome names without chr."""
    rng = np.random.default_rng(0)
    lines, expected = [], []
    for i in range(20):
        start, strand = 17_000_000 + 1000 * i, "+-"[i % 2]
        ones = sorted(rng.choice(125, size=i % 4, replace=False))
        labels = ",".join(map(str, ones))
        lines.append(f"22\t{start}\t{start + 512}\ttrain\t{strand}\t{labels}\n")
        dna = human_dna(start, 512).upper()
        expected.append((dna if strand == "+" else reverse_complement(dna), set(ones)))
    write_bed(
        write,
        "chromosome\tstart\tend\tsplit\tstrand\tlabel\n" + "".join(lines),
        "chromatin_accessibility",
    )
    genome = real_data / "genome" / "hg19_chr22_1-21000000.fa.gz"
    rows = bend.read(tmp_path, bend.tasks(tmp_path)[0], Genomes({"GRCh37": genome})).rows
    assert [
        (row.sequence, {i for i, x in enumerate(row.labels) if x == "1"}) for row in rows
    ] == expected


def test_rows_outside_pieces_of_a_genome_are_counted(write, read_task):
    write_bed(write, ROWS + "chr2\t0\t512\t+\t1\ttest\nchr1\t3900\t4412\t+\t1\ttest\n")
    rows = read_task(pieces=True)
    assert rows.counts == {
        "rows_read": 5,
        "left_out_not_in_genome": 1,
        "left_out_beyond_the_end": 1,
    }
    with pytest.raises(InputError, match=r"cpg_methylation\.bed:5: chr2:1-512 is not in toy\.fa"):
        read_task()
    write_bed(write, HEADER + "chr2\t0\t512\t+\t1\ttest\n")
    with pytest.raises(InputError, match=r"cpg_methylation\.bed: none of its rows is on toy\.fa"):
        read_task(pieces=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"bed:1: the file is empty; expected a header with chromosome,start,end,split"),
        (HEADER, r"bed: no row after the header"),
        ("chr1\t0\t512\ttrain\n", r"bed:1: no column is called chromosome; the header is chr1,0,512"),
        (HEADER.replace("split", "part"), r"bed:1: no column is called split"),
        (HEADER + "chr1\t0\t512\t+\ttrain\n", r"bed:2: 5 cells; the header has 6 columns"),
        (HEADER + "chr1\t1\t512\t+\t1\ttrain\n", r"bed:2: start 1 and end 512 span 511 bp; .* counts from 1, subtract 1"),
        (ROWS + "chr1\t900\t900\t+\t1\ttest\n", r"bed:5: start 900 and end 900 span 0 bp; expected 512"),
        (ROWS + "chr1\t900\t388\t+\t1\ttest\n", r"bed:5: start 900 and end 388 span -512 bp"),
        (HEADER + "chr1\t-1\t511\t+\t1\ttrain\n", r"bed:2: start '-1' and end '511'; expected whole numbers"),
        (HEADER + "chr1\tzero\t512\t+\t1\ttrain\n", r"bed:2: start 'zero'"),
        (HEADER + "chr1\t0\t512\t*\t1\ttrain\n", r"bed:2: strand '\*'; expected \+, - or \."),
        (HEADER + "chr1\t0\t512\t+\t1\t0\n", r"bed:2: the split is '0'; expected the word train, valid or test"),
        (HEADER + "chr1\t0\t512\t+\t1\tvalidation\n", r"bed:2: the split is 'validation'"),
        (HEADER + "chr1\t0\t512\t+\topen\ttrain\n", r"bed:2: 'open' in the column label; expected numbers from 0 to 6"),
        (ROWS + "chr1\t0\t512\t+\t1,7\ttrain\n", r"bed:5: '7' in the column label; expected numbers from 0 to 6"),
        (HEADER + "chr1\t0\t512\t+\t1,\ttrain\n", r"bed:2: '' in the column label"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_and_row(write, read_task, text, message):
    write_bed(write, text)
    with pytest.raises(InputError, match=message) as caught:
        read_task()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        (np.zeros((3, 7)), "labels", r"hdf5: labels has 3 rows, cpg_methylation\.bed has 2; row i of one"),
        (np.zeros((2, 18)), "labels", r"hdf5: labels has the shape \(2, 18\); expected 2 rows with 7 labels"),
        (np.zeros(2), "labels", r"hdf5: labels has the shape \(2,\)"),
        (np.array([[0] * 7, [0, 2] + [0] * 5]), "labels", r"hdf5: row 2 of labels has other values than 0 and 1"),
        (np.full((2, 7), np.nan), "labels", r"hdf5: row 1 of labels has other values"),
        (np.zeros((2, 7)), "targets", r"hdf5: no data set 'labels' in it; it has targets"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_hdf5_file_is_named(write, read_task, values, name, message):
    path = write_bed(write, PLAIN + "chr1\t0\t512\ttrain\nchr1\t600\t1112\ttest\n")
    write_labels(path, values, name)
    with pytest.raises(InputError, match=message):
        read_task()


def test_a_missing_or_damaged_hdf5_file(write, read_task):
    path = write_bed(write, PLAIN + "chr1\t0\t512\ttrain\n")
    with pytest.raises(InputError, match=r"cpg_methylation\.hdf5: no such file"):
        read_task()
    path.with_suffix(".hdf5").write_text("no HDF5")
    with pytest.raises(InputError, match=r"cpg_methylation\.hdf5: this is not a whole HDF5 file"):
        read_task()


def test_listed_labels_agree_with_the_sum_of_rows_of_the_unit_matrix():
    """The authors' own encoding (bend/io/sequtils.py, multi_hot), written with NumPy."""
    rng = np.random.default_rng(1)
    for size in range(8):
        numbers = rng.choice(18, size=size, replace=False)
        expected = np.eye(18)[numbers].sum(axis=0)
        listed = bend.listed_labels(",".join(map(str, numbers)), 18, "a.bed:2")
        assert np.array_equal(np.bincount(listed, minlength=18), expected)


def test_the_bed_file_as_csv_module_reads_it(write, read_task):
    path = write_bed(write, ROWS)
    with open(path, newline="") as stream:
        expected = [int(row["start"]) for row in csv.DictReader(stream, delimiter="\t")]
    assert [row.interval.start for row in read_task().rows] == expected
