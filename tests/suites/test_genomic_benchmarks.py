"""Genomic Benchmarks: made files row by row, mixed assemblies, every fault of a file, and the real label files."""

import numpy as np
import pytest

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import find_suite
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval, reverse_complement
from dna_bigbird.labelled.sequences.sets import UNASSIGNED
from dna_bigbird.labelled.splits import TEST

SUITE = find_suite("genomic-benchmarks")
HEADER = "id,region,start,end,strand\n"
ENHANCERS = "human_enhancers_ensembl"
"""A task whose rows may have any length."""
CHAIN = "chain 100 chr1 5000 + 1000 5000 chr1 4000 - 0 4000 1\n4000\n\n"
"""chr1 of 5,000 bases, whose last 4,000 are all of the other assembly, turned round."""


@pytest.fixture
def files(write):
    """Function (task, rows by part/class) -> nothing; a class without rows has a header alone."""

    def write_all(task, rows):
        for name, lines in rows.items():
            text = HEADER + "".join(f"{line}\n" for line in lines)
            write(f"datasets/{task}/{name}.csv.gz", text)

    return write_all


def task_of(folder):
    (task,) = SUITE.tasks(folder)
    return task


def enhancers(**parts):
    """Rows of an enhancer task: one valid row in each file, and those given."""
    valid = {
        f"{part}/{name}": [f"x{i},chr1,{100 * i},{100 * i + 50},+"]
        for i, (part, name) in enumerate(
            (part, name) for part in ("train", "test") for name in ("negative", "positive")
        )
    }
    return valid | {name.replace("_", "/"): rows for name, rows in parts.items()}


def test_rows_are_the_bases_of_their_intervals(files, tmp_path, toy_genome):
    path, bases = toy_genome
    files(
        ENHANCERS,
        {
            "train/negative": ["n1,chr1,0,10,+", "", "n2,1,2990,3000,"],
            "train/positive": ['"p,1",chr1,10,30,-'],
            "test/negative": ["n1,chr1,0,10,+"],
            "test/positive": ["p2, chr1 , 3990 ,4000,-"],
        },
    )
    rows = SUITE.read(tmp_path, task_of(tmp_path), Genomes({"GRCh38": path}))
    assert [row.sequence for row in rows.rows] == [
        bases[:10],
        bases[2990:3000],
        reverse_complement(bases[10:30]),
        bases[:10],
        reverse_complement(bases[3990:]),
    ]
    labels = ["negative", "negative", "positive", "negative", "positive"]
    assert [row.labels for row in rows.rows] == [(label,) for label in labels]
    assert rows.rows[1].interval == Interval("chr1", 2990, 3000, "+")
    assert [row.name for row in rows.rows[2:4]] == ["train:p,1", "test:n1"]
    assert rows.rows[1].where.endswith("train/negative.csv.gz:4")
    assert rows.roles.tolist() == [UNASSIGNED] * 3 + [TEST] * 2
    assert (rows.label_type, rows.assembly) == ("multi-class", "GRCh38")
    assert rows.counts == {"rows_read": 5}


def test_rows_are_lifted_and_lost_ones_are_counted(files, tmp_path, toy_genome):
    """The new chr1 is the old one from 1,000 on, turned round: old base 4,999 is new base 0."""
    path, bases = toy_genome
    chain = tmp_path / "a.chain"
    chain.write_text(CHAIN)
    rows = enhancers(
        train_negative=["a,chr1,4980,5000,+", "b,chr1,990,1010,+", "c,chr2,0,10,+"],
        train_positive=["d,chr1,1000,1030,-"],
        test_negative=["e,chr1,2000,2010,+"],
        test_positive=["f,chr1,3000,3010,-"],
    )
    files(ENHANCERS, rows)
    result = SUITE.read(tmp_path, task_of(tmp_path), Genomes({"GRCh37": path}, chain))
    old = reverse_complement(bases)
    assert [row.sequence for row in result.rows] == [
        old[3980:],
        reverse_complement(old[:30]),
        old[1000:1010],
        reverse_complement(old[2000:2010]),
    ]
    assert result.rows[0].interval == Interval("chr1", 0, 20, "-")
    assert result.assembly == "GRCh37"
    assert result.counts == {"rows_read": 6, "left_out_not_lifted": 2}


def test_pieces_of_chromosomes_leave_rows_out(files, tmp_path, toy_genome):
    path, _ = toy_genome
    files(
        ENHANCERS, enhancers(train_negative=["a,chr1,0,9,+", "b,chr1,3995,4001,+", "c,chr7,0,9,+"])
    )
    genomes = Genomes({"GRCh38": path}, pieces=True)
    result = SUITE.read(tmp_path, task_of(tmp_path), genomes)
    assert result.counts == {
        "rows_read": 6,
        "left_out_beyond_the_end": 1,
        "left_out_not_in_genome": 1,
    }
    assert len(result.rows) == 4


@pytest.fixture
def two_genomes(tmp_path, toy_genome, random_dna):
    """chr1 of the toy genome, and a FASTA with other bases, in which a chromosome is called chr1 too."""
    other = random_dna(300, 5)
    path = tmp_path / "other.fa"
    path.write_text(f">chr1\n{other}\n>ENST01.2 cdna\n{other[::-1]}\n")
    return toy_genome[0], path, toy_genome[1], other


@pytest.mark.parametrize(
    ("task", "classes", "assembly"),
    [
        ("demo_human_or_worm", ("human", "worm"), "WBcel235"),
        ("demo_coding_vs_intergenomic_seqs", ("intergenomic_seqs", "coding_seqs"), "transcripts"),
    ],
)
def test_classes_of_two_assemblies(files, tmp_path, two_genomes, task, classes, assembly):
    """Equal names and positions of two assemblies are different intervals."""
    first, second, bases, other = two_genomes
    own, foreign = classes
    files(
        task,
        {
            f"train/{own}": ["a,chr1,0,200,+"],
            f"train/{foreign}": ["b,chr1,0,200,-"],
            f"test/{own}": ["c,chr1,100,300,+"],
            f"test/{foreign}": ["d,ENST01.2,0,200,+"],
        },
    )
    genomes = Genomes({"GRCh38": first, assembly: second})
    result = SUITE.read(tmp_path, task_of(tmp_path), genomes)
    by_name = {row.name: row for row in result.rows}
    assert {name: row.sequence for name, row in by_name.items()} == {
        "train:a": bases[:200],
        "train:b": reverse_complement(other[:200]),
        "test:c": bases[100:300],
        "test:d": other[::-1][:200],
    }
    assert by_name["train:a"].interval.chrom == "chr1"
    assert by_name["train:b"].interval.chrom == f"{assembly}:chr1"
    assert result.assembly == "GRCh38"
    assert (task_of(tmp_path).assembly, task_of(tmp_path).other_assemblies) == (
        "GRCh38",
        [assembly],
    )
    listed = {row.interval.chrom for row in SUITE.intervals(tmp_path, task_of(tmp_path))}
    assert listed == {"chr1", f"{assembly}:chr1", f"{assembly}:ENST01.2"}
    with pytest.raises(InputError, match=rf"^--genome: no FASTA for {assembly}; add {assembly}="):
        SUITE.read(tmp_path, task_of(tmp_path), Genomes({"GRCh38": first}))


BAD_ROWS = {
    "a,chr1,20,20,+": r"start '20' and end '20'; expected whole numbers, counted from 0, the end above",
    "a,chr1,30,20,+": r"start '30' and end '20'; expected whole numbers",
    "a,chr1,-5,20,+": r"start '-5' and end '20'; expected whole numbers",
    "a,chr1,1.5,20,+": r"start '1\.5' and end '20'; expected whole numbers",
    "a,chr1,ten,20,+": r"start 'ten' and end '20'; expected whole numbers",
    "a,chr1,²,20,+": r"start '²' and end '20'; expected whole numbers",
    "a,chr1,,20,+": r"start '' and end '20'; expected whole numbers",
    "a,chr1,0,20,X": r"strand 'X'; expected \+, - or nothing",
    "a,chr1,0,20": r"4 columns, the header has 5",
    "a,chr1,0,20,+,1": r"6 columns, the header has 5",
    "a,chr5,0,20,+": r"chr5:1-20 is not in toy\.fa, which has no such chromosome\. Is it .* GRCh38\?",
    "a,chr1,3990,4001,+": r"chr1:3,991-4,001 is not in toy\.fa, which ends before\. .* --pieces true",
}


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_bad_row_is_one_line_with_file_and_line(files, tmp_path, toy_genome, row):
    files(ENHANCERS, enhancers(test_positive=["ok,chr1,0,20,+", row]))
    place = r"datasets/human_enhancers_ensembl/test/positive\.csv\.gz:3: "
    with pytest.raises(InputError, match=place + BAD_ROWS[row]) as caught:
        SUITE.read(tmp_path, task_of(tmp_path), Genomes({"GRCh38": toy_genome[0]}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("task", "length_bp"),
    [("human_enhancers_cohn", 500), ("human_nontata_promoters", 251), ("demo_human_or_worm", 200)],
)
def test_starts_counted_from_one_are_seen_where_all_rows_have_one_length(
    files, tmp_path, toy_genome, task, length_bp
):
    rows = {name: [f"a,chr1,0,{length_bp},+"] for name in enhancers()}
    rows["test/positive"].append(f"b,chr1,1,{length_bp},+")
    files(task, rows)
    message = (
        rf"{task}/test/positive\.csv\.gz:3: start 1 and end {length_bp} span {length_bp - 1} bp; expected {length_bp}, "
        r"starts counted from 0 .*If this file counts from 1, subtract 1 from every start$"
    )
    with pytest.raises(InputError, match=message):
        SUITE.read(tmp_path, task_of(tmp_path), Genomes({"GRCh38": toy_genome[0]}))
    with pytest.raises(InputError, match=message):
        list(SUITE.intervals(tmp_path, task_of(tmp_path)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the header is empty; expected id,region,start,end,strand"),
        ("chrom,start,end\n", "the header is chrom,start,end; expected id,region,start,end,strand"),
        ("a,chr1,0,20,+\n", r"the header is a,chr1,0,20,\+; expected id,region"),
    ],
)
def test_a_wrong_header(files, write, tmp_path, toy_genome, text, message):
    files(ENHANCERS, enhancers())
    write(f"datasets/{ENHANCERS}/train/negative.csv.gz", text)
    with pytest.raises(InputError, match=r"train/negative\.csv\.gz:1: " + message):
        SUITE.read(tmp_path, task_of(tmp_path), Genomes({"GRCh38": toy_genome[0]}))


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        (["test/positive"], r"/test: no positive\.csv\.gz, and .*/train has one; is the copy"),
        (["train/positive"], r"/train: 1 files \*\.csv\.gz; expected one per class, at least two"),
    ],
)
def test_a_class_that_a_part_lacks(files, tmp_path, toy_genome, absent, message):
    files(ENHANCERS, {name: rows for name, rows in enhancers().items() if name not in absent})
    with pytest.raises(InputError, match=message):
        list(SUITE.intervals(tmp_path, task_of(tmp_path)))
    with pytest.raises(InputError, match=message):
        SUITE.read(tmp_path, task_of(tmp_path), Genomes({"GRCh38": toy_genome[0]}))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], r"^--genome: no FASTA for GRCh38; add GRCh38=FILE$"),
        (["WBcel235"], r"^--genome: no FASTA for GRCh38; add GRCh38=FILE \(given: WBcel235\)$"),
        (
            ["GRCh37"],
            r"^--genome GRCh37=FILE: the intervals are on GRCh38; add GRCh38=FILE, or --chain",
        ),
    ],
)
def test_no_genome_or_no_chain(files, tmp_path, toy_genome, names, message):
    files(ENHANCERS, enhancers())
    genomes = Genomes(dict.fromkeys(names, toy_genome[0]))
    with pytest.raises(InputError, match=message):
        SUITE.read(tmp_path, task_of(tmp_path), genomes)


LIFTED = {
    "human_ensembl_regulatory": 765,
    "human_ocr_ensembl": 331,
    "human_enhancers_ensembl": 310,
    "human_nontata_promoters": 84,
    "human_enhancers_cohn": 63,
}


@pytest.fixture(scope="module")
def pieces(real_data, tmp_path_factory):
    """FASTA of the first bases of chr22 and chr17 of hg19."""
    from dna_bigbird.genome.genome import genome

    names = ("hg19_chr22_1-21000000.fa.gz", "hg19_chr17_1-1000000.fa.gz")
    path = tmp_path_factory.mktemp("pieces") / "pieces.fa"
    genome(
        inputs=[real_data / "genome" / name for name in names],
        assembly="GRCh37",
        pieces=True,
        output=path,
    )
    return path


CUT, WHOLE = "hg38ToHg19.chr17_chr22_only.over.chain.gz", "hg38ToHg19.over.chain.gz"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("human_nontata_promoters", CUT),
        ("human_enhancers_cohn", CUT),
        *(pytest.param(x, WHOLE, marks=pytest.mark.slow) for x in LIFTED),
    ],
)
def test_real_rows_on_real_pieces(pieces, real_data, name, file):
    """Every row is on the pieces, or counted as lost or outside of them."""
    folder = real_data / "benchmarks" / "genomic_benchmarks"
    chain = real_data / "chain" / file
    (task,) = (x for x in SUITE.tasks(folder) if x.name == name)
    result = SUITE.read(folder, task, Genomes({"GRCh37": pieces}, chain, pieces=True))
    assert len(result.rows) == LIFTED[name]
    left_out = [n for key, n in result.counts.items() if key.startswith("left_out_")]
    assert result.counts["rows_read"] == len(result.rows) + sum(left_out)
    assert {row.interval.chrom for row in result.rows} <= {"chr17", "chr22"}
    lengths = np.array([row.interval.length for row in result.rows])
    assert lengths.tolist() == [len(row.sequence) for row in result.rows]
    assert 0 < (result.roles == TEST).sum() < len(result.rows)
