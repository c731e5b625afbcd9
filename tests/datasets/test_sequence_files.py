"""Hand-made tables, FASTA and BED files: what is read, and the line for each thing that is wrong."""

import gzip

import pyfaidx
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.sequences.files import SequenceColumns, joined_words, sequence_files


def rows_of(path, columns=None, genome=None, **options):
    (file,) = sequence_files([path], "input", **options)
    return list(file.rows(columns or SequenceColumns(), genome))


@pytest.fixture
def table(tmp_path):
    def write(text, name="train.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_a_table_as_the_gue_files(table):
    rows = rows_of(table("sequence,label\nacgt,0\nGGCCU,1\n"))
    assert [(x.sequence, x.labels, x.name) for x in rows] == [
        ("ACGT", ("0",), "input:2"),
        ("GGCCT", ("1",), "input:3"),
    ]
    assert rows[1].where.endswith("train.csv:3")


@pytest.mark.parametrize("mark", ["\t", ";", ","])
def test_columns_in_any_order_with_any_mark_and_quotes(table, mark):
    text = (
        mark.join(["gene", "a", "seq", "b"]) + "\n" + mark.join(["G1", "0", '"ACGT"', "1"]) + "\n\n"
    )
    columns = SequenceColumns("seq", ("b", "a"), group="gene")
    (row,) = rows_of(table(text), columns)
    assert (row.sequence, row.labels, row.group) == ("ACGT", ("1", "0"), "G1")


def test_gzip_and_windows_line_ends(tmp_path):
    (tmp_path / "t.tsv.gz").write_bytes(
        gzip.compress(b"\xef\xbb\xbfsequence\tlabel\r\nACGT\t1\r\n", mtime=0)
    )
    (row,) = rows_of(tmp_path / "t.tsv.gz")
    assert (row.sequence, row.labels) == ("ACGT", ("1",))


def test_overlapping_words(table):
    (row,) = rows_of(table("sequence\tlabel\nACG CGT GTT\t1\n"), SequenceColumns(kmers=3))
    assert row.sequence == "ACGTT"
    assert joined_words("", 3) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "seq,label\nACGT,1\n",
            r"train\.csv:1: no column 'sequence' in the header; it has seq, label",
        ),
        (
            "sequence,class\nACGT,1\n",
            r"train\.csv:1: no column 'label' .* Name the columns with --seq",
        ),
        ("sequence,label,label\nACGT,1,1\n", r"train\.csv:1: 2 columns 'label' in the header"),
        ("ACGT,1\n", r"train\.csv:1: no column 'sequence' in the header; it has ACGT, 1"),
        ("", r"train\.csv:1: no column 'sequence' in the header; it has nothing"),
        (
            "sequence,label\nACGT,1\nAC-T,0\n",
            r"train\.csv:3: .*'-' at position 3 is not a DNA letter",
        ),
        ("sequence,label\nMKVLEF,1\n", r"train\.csv:2: .*Is this a protein sequence"),
        ("sequence,label\n,1\n", r"train\.csv:2: nothing in the column sequence"),
        ("sequence,label\nACGT\n", r"train\.csv:2: 1 columns, the header has 2\.$"),
        ("sequence,label\nACGT,0,5\n", r"train\.csv:2: 3 columns, .* decimal comma"),
    ],
)
def test_wrong_tables(table, text, message):
    with pytest.raises(InputError, match=message):
        rows_of(table(text))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("ACG GGT", r"train\.csv:2: word 2, 'GGT', does not continue 'ACG'"),
        ("ACGTAC", r"train\.csv:2: word 1, 'ACGTAC', .* is --kmers 3 right"),
    ],
)
def test_words_that_do_not_overlap(table, cell, message):
    with pytest.raises(InputError, match=message):
        rows_of(table(f"sequence,label\n{cell},1\n"), SequenceColumns(kmers=3))


def test_fasta_files_are_a_class_each(table, tmp_path):
    table(">a x\nACG\nT\n>b\nGG\n", "enhancer.fa")
    rows = rows_of(tmp_path / "enhancer.fa")
    assert [(x.sequence, x.labels, x.name) for x in rows] == [
        ("ACGT", ("enhancer",), "a"),
        ("GG", ("enhancer",), "b"),
    ]
    assert rows_of(f"yes={tmp_path}/enhancer.fa")[0].labels == ("yes",)
    table(">a\n>b\nGG\n", "hollow.fa")
    with pytest.raises(InputError, match=r"hollow\.fa:1: record 'a' has no sequence"):
        rows_of(tmp_path / "hollow.fa")


def test_tables_can_be_a_class_each(table):
    path = table("id,sequence\n1,ACGT\n")
    assert rows_of(path, classes_by_file=True)[0].labels == ("train",)


@pytest.fixture
def genome(tmp_path):
    (tmp_path / "g.fa").write_text(">chr1\nAACCGGTTAC\n>chr2\nACGTACGTAC\n")
    return Genome(tmp_path / "g.fa")


def test_bed_rows_are_read_on_their_strand(table, genome):
    path = table("chr1\t0\t4\tyes\t0.5\t-\n2\t2\t8\tno\t1.5\t+\n", "p.bed")
    rows = rows_of(path, genome=genome)
    assert [(x.sequence, x.labels, x.interval.chrom) for x in rows] == [
        ("GGTT", ("yes",), "chr1"),
        ("GTACGT", ("no",), "chr2"),
    ]
    scores = rows_of(path, SequenceColumns(labels=("5",)), genome)
    assert [x.labels for x in scores] == [("0.5",), ("1.5",)]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (
            "chr1\t0\t4\tx\n",
            ("score",),
            "--label_columns score: columns of a BED file have numbers",
        ),
        (
            "chr1\t0\t4\tx\n",
            ("3",),
            "--label_columns 3: columns of a BED file have numbers, from 4",
        ),
        ("chr9\t0\t4\tx\n", (), r"p\.bed:1: .*chr9"),
        ("chr1\t0\t40\tx\n", (), r"p\.bed:1: end 40 is beyond the end of chr1"),
    ],
)
def test_wrong_bed_files(table, genome, text, columns, message):
    with pytest.raises(InputError, match=message):
        rows_of(table(text, "p.bed"), SequenceColumns(labels=columns), genome)


def test_a_bed_file_needs_a_genome(table):
    with pytest.raises(InputError, match=r"p\.bed: a BED file has no bases; add --genome"):
        rows_of(table("chr1\t0\t4\tx\n", "p.bed"))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.csv", r"--input none\.csv: no such file"),
        ("=x.fa", "--input =x.fa: expected NAME=FILE"),
    ],
)
def test_wrong_paths(path, message):
    with pytest.raises(InputError, match=message):
        sequence_files([path], "input")


INTERVALS = "id,region,start,end,strand\n0,chr1,3,9,+\n1,chr2,0,7,-\n2,chr1,5,12,\n"
"""As the files of Genomic Benchmarks."""


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.fa"
    path.write_text(">chr1\nACGTTGCAACGTAAA\n>chr2\nGGATCCTTAGN\n")
    return path


@pytest.mark.parametrize("name", ["promoter.csv", "promoter.tsv.gz"])
def test_a_table_of_intervals_has_the_bases_that_pyfaidx_reads(tmp_path, toy, name):
    text = INTERVALS.replace(",", "\t") if ".tsv" in name else INTERVALS
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    rows = rows_of(path, genome=Genome(toy), classes_by_file=True)
    with pyfaidx.Fasta(str(toy)) as fasta:
        expected = [
            fasta["chr1"][3:9].seq,
            fasta["chr2"][0:7].reverse.complement.seq,
            fasta["chr1"][5:12].seq,
        ]
    assert [x.sequence for x in rows] == expected
    assert {x.labels for x in rows} == {("promoter",)}
    assert [(x.interval.start, x.interval.end, x.interval.strand) for x in rows] == [
        (3, 9, "+"), (0, 7, "-"), (5, 12, "+")
    ]  # fmt: skip


def test_a_table_of_intervals_with_labels_and_groups(table, toy):
    path = table("gene;chrom;start;end;label\nG1;1;3;9;0\nG2;2;0;7;1\n")
    rows = rows_of(path, SequenceColumns(group="gene"), Genome(toy))
    assert [(x.sequence, x.labels, x.group) for x in rows] == [
        ("TTGCAA", ("0",), "G1"), ("GGATCCT", ("1",), "G2")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "with_genome", "message"),
    [
        (INTERVALS, False, r"train\.csv: a table of intervals has no bases; add --genome"),
        (
            INTERVALS.replace("0,7,-", "0,12,-"),
            True,
            r"train\.csv:3: end 12 is beyond the end of chr2",
        ),
        (INTERVALS.replace("0,7,-", "7,7,-"), True, r"train\.csv:3: start '7' and end '7'"),
        (INTERVALS.replace("0,7,-", "0,7,x"), True, r"train\.csv:3: strand 'x'"),
        (INTERVALS.replace("chr2", "chr9"), True, r"train\.csv:3: .*chr9"),
    ],
)
def test_a_wrong_table_of_intervals_is_one_line(table, toy, text, with_genome, message):
    genome = Genome(toy) if with_genome else None
    with pytest.raises(InputError, match=message):
        rows_of(table(text), genome=genome, classes_by_file=True)


def test_a_table_of_intervals_without_a_label_names_the_option(table, toy):
    with pytest.raises(InputError, match=r"train\.csv:1: no column 'label' .*--classes_by_file"):
        rows_of(table(INTERVALS), genome=Genome(toy))
