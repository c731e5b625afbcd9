"""Documents follow the paper's recipe and keep off gaps and excluded regions."""

import gzip
import re
from dataclasses import replace

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.document_file import iter_document_file, write_documents
from dna_bigbird.corpus.documents import (
    Document,
    DocumentConfig,
    expected_documents,
    no_documents_message,
)
from dna_bigbird.corpus.regions import contiguous_stretches
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.sources.assemblies import expected_lengths
from tests.bedtools_program import needs_bedtools
from tests.toy_corpus import build_documents

SMALL = DocumentConfig(
    passes=3,
    max_start_bp=500,
    min_sentences=3,
    max_sentences=6,
    min_sentence_bp=50,
    max_sentence_bp=100,
)


def bases_of(documents: list[Document], genome: Genome) -> np.ndarray:
    """How often each base of chr1 lies in a document."""
    depth = np.zeros(genome.lengths["chr1"], dtype=int)
    for document in documents:
        depth[document.interval.start : document.interval.end] += 1
    return depth


def test_the_recipe(toy_genome):
    documents = build_documents(toy_genome, ["chr1"], [], DocumentConfig(), seed=0)
    full = [d for d in documents if d.interval.end not in (60_000, 150_000)]
    for document in documents:
        sizes = np.diff([0, *document.sentence_ends])
        assert document.sentence_ends[-1] == document.interval.length
        assert sizes.min() >= 500
        assert sizes.max() <= 1000
        assert len(sizes) <= 100
    ends = {d.interval.end for d in documents}
    whole = [d for d in full if any(o.interval.start == d.interval.end for o in documents)]
    assert whole, "some document is followed by another"
    assert all(50 <= len(d.sentence_ends) <= 100 for d in whole)
    assert all(end <= 60_000 or end > 62_000 for end in ends)


def test_lengths_and_starts_are_uniform(tmp_path):
    path = tmp_path / "long.fa"
    path.write_text(">1\n" + "A" * 400_000 + "\n")
    config = DocumentConfig(passes=300, max_start_bp=99, min_sentences=3, max_sentences=6)
    documents = build_documents(Genome(path), [], [], config, seed=3)
    starts = np.array([d.interval.start for d in documents if d.interval.start < 100])
    assert len(starts) == 300
    assert set(starts) <= set(range(100))
    assert abs(starts.mean() - 49.5) < 4 * 28.9 / np.sqrt(300)
    inside = [d for d in documents if d.interval.end < 390_000]
    counts = np.bincount([len(d.sentence_ends) for d in inside], minlength=7)[3:]
    assert (abs(counts / counts.sum() - 0.25) < 4 * np.sqrt(0.1875 / counts.sum())).all()
    sizes = np.concatenate([np.diff([0, *d.sentence_ends]) for d in inside])
    assert sizes.min() == 500
    assert sizes.max() == 1000
    assert abs(sizes.mean() - 750) < 4 * 144.6 / np.sqrt(len(sizes))


def test_no_document_crosses_a_gap_or_touches_an_excluded_base(toy_genome):
    documents = build_documents(toy_genome, ["chr1"], ["chr1:100,001-110,000"], SMALL, seed=0)
    depth = bases_of(documents, toy_genome)
    assert depth[:300].max() == 0
    assert depth[60_000:62_000].max() == 0
    assert depth[100_000:110_000].max() == 0
    assert depth[30_000:30_010].min() == SMALL.passes, "a short run of N is kept"
    for start, end in ((300, 60_000), (62_000, 100_000), (110_000, 150_000)):
        assert (depth[start + 500 : end - 50] == SMALL.passes).all(), "every pass covers the rest"
    text = toy_genome.fetch(Interval("chr1", 0, 150_000))
    longest = max(
        (
            len(run)
            for d in documents
            for run in re.findall("N+", text[slice(d.interval.start, d.interval.end)])
        ),
        default=0,
    )
    assert longest == 10


def test_the_end_of_a_stretch(toy_genome):
    """At most one sentence less one base is left out; the last document may be short."""
    documents = build_documents(toy_genome, ["chr1:62,001-63,000"], [], SMALL, seed=5)
    for start in (d.interval.start for d in documents if d.interval.start < 62_500):
        assert start >= 62_000
    last = [d for d in documents if d.interval.end > 62_950]
    assert len(last) == SMALL.passes
    assert min(len(d.sentence_ends) for d in documents) >= 1


def test_a_stretch_of_one_sentence_gives_a_document_and_a_shorter_one_none(toy_genome):
    one = build_documents(toy_genome, ["chr1:1001-1050"], [], SMALL, seed=0)
    assert {(d.interval.start, d.sentence_ends) for d in one} == {(1000, (50,))}
    assert not build_documents(toy_genome, ["chr1:1001-1049"], [], SMALL, seed=0)
    assert "there is no stretch of 50 bases" in no_documents_message(["chr1:1001-1049"], SMALL)


def test_a_validation_region_of_100_kb_gives_documents_of_the_paper(toy_genome):
    documents = build_documents(
        toy_genome, ["chr1:62,001-150,000"], [], DocumentConfig(passes=1), seed=0
    )
    assert sum(d.interval.length for d in documents) > 80_000


def test_the_seed_decides_and_other_regions_do_not(toy_genome):
    once = build_documents(toy_genome, ["chr1:62,001-150,000"], [], SMALL, seed=0)
    assert once == build_documents(toy_genome, ["1:62001-150000"], [], SMALL, seed=0)
    assert once != build_documents(toy_genome, ["chr1:62,001-150,000"], [], SMALL, seed=1)
    both = build_documents(toy_genome, ["chr1:1-50,000", "chr1:62,001-150,000"], [], SMALL, seed=0)
    assert [d for d in both if d.interval.start >= 62_000] == once


def test_both_strands(toy_genome):
    documents = build_documents(toy_genome, [], [], replace(SMALL, both_strands=True), seed=0)
    forward = sum(d.interval.strand == "+" for d in documents)
    assert abs(forward - len(documents) / 2) < 4 * np.sqrt(len(documents) / 4)
    document = next(d for d in documents if d.interval.strand == "-")
    assert document.texts(toy_genome) == [toy_genome.fetch(s) for s in document.sentences()]
    assert document.sentences()[0].end == document.interval.end


def test_sentences_by_hand(toy_genome):
    forward = Document(Interval("chr1", 1000, 1010), (4, 10))
    assert [(s.start, s.end) for s in forward.sentences()] == [(1000, 1004), (1004, 1010)]
    reverse = Document(Interval("chr1", 1000, 1010, "-"), (4, 10))
    assert [(s.start, s.end) for s in reverse.sentences()] == [(1004, 1010), (1000, 1004)]
    assert [len(t) for t in reverse.texts(toy_genome)] == [6, 4]


def test_bed12_round_trip_and_equal_bytes(toy_genome, tmp_path):
    documents = build_documents(toy_genome, [], [], replace(SMALL, both_strands=True), seed=0)
    for name in ("a.bed.gz", "b.bed.gz"):
        assert write_documents(tmp_path / name, documents) == len(documents)
    assert list(iter_document_file(tmp_path / "a.bed.gz")) == documents
    assert (tmp_path / "a.bed.gz").read_bytes() == (tmp_path / "b.bed.gz").read_bytes()
    with gzip.open(tmp_path / "a.bed.gz", "rt") as stream:
        first = stream.readline().rstrip("\n").split("\t")
    sizes, starts = ([int(x) for x in first[i].split(",")] for i in (10, 11))
    assert len(first) == 12
    assert starts[-1] + sizes[-1] == int(first[2]) - int(first[1]), "BED wants the last block there"


@needs_bedtools
def test_bedtools_reads_every_sentence(toy_genome, tmp_path):
    """An independent reader of BED12 finds the same blocks."""
    import pybedtools

    documents = build_documents(toy_genome, ["chr1:1-9000"], [], SMALL, seed=0)
    write_documents(tmp_path / "d.bed.gz", documents)
    blocks = pybedtools.BedTool(str(tmp_path / "d.bed.gz")).bed6()
    assert [(b.start, b.end) for b in blocks] == [
        (s.start, s.end) for d in documents for s in d.sentences()
    ]


GOOD = "chr1\t0\t10\td\t0\t+\t0\t10\t0\t2\t4,6\t0,4\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("chr1\t0\t10\n", r"bad.bed:2: 3 columns"),
        (GOOD.replace("4,6", "4,5"), r"bad.bed:2: the sentences \(blocks\) do not tile 0-10"),
        (GOOD.replace("\t2\t", "\t3\t"), "bad.bed:2: the sentences"),
        (GOOD.replace("4,6", "4,x"), "bad.bed:2: .*whole numbers"),
        (GOOD.replace("+", "."), r"bad.bed:2: strand is '\.'"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(tmp_path, line, message):
    path = tmp_path / "bad.bed"
    path.write_text(GOOD + line)
    with pytest.raises(InputError, match=message):
        list(iter_document_file(path))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"passes": 0}, "--documents.passes 0"),
        ({"min_sentences": 200}, "--documents.min_sentences 200 .* --documents.max_sentences 100"),
        ({"min_sentence_bp": 0}, "--documents.min_sentence_bp 0"),
        ({"max_start_bp": -1}, "max_start_bp"),
    ],
)
def test_contradictory_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        DocumentConfig(**settings)


def test_the_predicted_count_agrees_with_the_drawn_one(tmp_path):
    path = tmp_path / "long.fa"
    lengths = {"a": 700_000, "b": 90_000, "c": 6_000, "d": 40}
    path.write_text("".join(f">{name}\n{'A' * bp}\n" for name, bp in lengths.items()))
    config = DocumentConfig(passes=200, min_sentences=5, max_sentences=10)
    drawn = len(build_documents(Genome(path), [], [], config, seed=0))
    assert drawn == pytest.approx(expected_documents(lengths.values(), config), rel=0.01)


def test_the_whole_of_grch37_is_about_550_thousand_documents_not_450():
    """With every N kept; by hand 10 x 3.096 Gbp / 56,250 bp is 550,343."""
    lengths = expected_lengths("GRCh37").values()
    assert sum(lengths) == 3_095_677_412
    expected = expected_documents(lengths, DocumentConfig())
    assert expected == pytest.approx(550_343, rel=0.001)
    assert (
        round(expected) == 550_455
    )  # as docs/explanation/documents-and-tokens.md has it, and the help


def test_real_chr22(real_data, tmp_path):
    path = tmp_path / "chr22.fa"
    with gzip.open(real_data / "genome" / "hg19_chr22_1-21000000.fa.gz", "rt") as stream:
        path.write_text(stream.read())
    genome = Genome(path)
    config = DocumentConfig()
    regions, excluded = ["22:16,000,001-21,000,000"], ["chr22:19,000,001-19,200,000"]
    documents = build_documents(genome, regions, excluded, config, seed=0)
    # The gaps of the UCSC table on this piece; single N lie at 19.18 Mb (excluded) and 19.2 Mb.
    gaps = [
        Interval("chr22", *g) for g in ((0, 16050000), (16697850, 16847850), (20509431, 20609431))
    ]
    assert all(d.interval.overlap(gap) == 0 for d in documents for gap in gaps)
    assert all(
        d.interval.overlap(Interval("chr22", 19_000_000, 19_200_000)) == 0 for d in documents
    )
    stretches = [
        s.length
        for part in (
            Interval("chr22", 16_000_000, 19_000_000),
            Interval("chr22", 19_200_000, 21_000_000),
        )
        for s in contiguous_stretches(genome, part, config.max_n_run_bp)
    ]
    assert stretches == [647_850, 2_152_150, 1_309_431, 390_569]
    assert len(documents) == pytest.approx(expected_documents(stretches, config), rel=0.04)
