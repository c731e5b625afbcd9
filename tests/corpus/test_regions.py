"""Regions, exclusions and the rule for assembly gaps."""

import re

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus import regions
from dna_bigbird.corpus.regions import contiguous_stretches, read_region, select
from dna_bigbird.genome import Genome, Interval


def genome_of(tmp_path, **chroms: str) -> Genome:
    path = tmp_path / "small.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in chroms.items()))
    return Genome(path)


@pytest.mark.parametrize("text", ["chr1", "1", 1, "chr1:1-150,000", "1:1-150000"])
def test_both_ways_to_name_a_chromosome(toy_genome, text):
    assert read_region(text, toy_genome) == Interval("chr1", 0, 150_000)


def test_a_region_counts_from_one_and_includes_its_end(toy_genome):
    assert read_region("chr1:11-20", toy_genome) == Interval("chr1", 10, 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr9", "chromosome 'chr9' is not in toy.fa"),
        ("chr1:5-150001", r"region 'chr1:5-150001' ends after chr1, which has 150,000 bases"),
        ("chr1:9-5", "is empty"),
        ("chr1:a-b", "is not a region"),
        (0, "without|leave the commas out"),
    ],
)
def test_wrong_regions(toy_genome, text, message):
    with pytest.raises(InputError, match=message):
        read_region(text, toy_genome)


def test_overlapping_regions_count_once_and_exclusions_are_cut_out(toy_genome):
    chosen = select(
        toy_genome, ["chr2", "chr1:1-5000", "1:4001-9000"], ["chr1:2001-3000", "chr1:8501-150000"]
    )
    assert chosen == [
        Interval("chr1", 0, 2000),
        Interval("chr1", 3000, 8500),
        Interval("chr2", 0, 400),
    ]


def test_no_region_means_the_whole_genome(toy_genome):
    assert [i.chrom for i in select(toy_genome, [])] == ["chr1", "chr2"]


def test_excluding_everything_is_an_error(toy_genome):
    with pytest.raises(InputError, match="leave nothing"):
        select(toy_genome, ["chr1:1-100"], ["chr1"])


def test_runs_longer_than_the_limit_split(tmp_path):
    genome = genome_of(tmp_path, a="NNACNNGTNNNAANNNN")
    whole = Interval("a", 0, 17)
    assert [(s.start, s.end) for s in contiguous_stretches(genome, whole, 2)] == [(0, 8), (11, 13)]
    assert [(s.start, s.end) for s in contiguous_stretches(genome, whole, 0)] == [
        (2, 4),
        (6, 8),
        (11, 13),
    ]
    assert contiguous_stretches(genome, whole, 4) == [whole]


def test_a_gap_that_only_reaches_into_a_region_is_still_a_gap(tmp_path):
    genome = genome_of(tmp_path, a="ACGTNNNNNACGT")
    found = contiguous_stretches(genome, Interval("a", 2, 6), max_n_run_bp=3)
    assert [(s.start, s.end) for s in found] == [(2, 4)]


@pytest.mark.parametrize("scan_bp", [1, 2, 3, 7, 1000])
def test_runs_of_n_do_not_depend_on_how_the_genome_is_read(tmp_path, monkeypatch, scan_bp):
    text = "NACNNNNNNNNGTNACGNNNTNN"
    genome = genome_of(tmp_path, a=text)
    monkeypatch.setattr(regions, "SCAN_BP", scan_bp)
    expected = [m.span() for m in re.finditer("[^N]+", text)]
    found = contiguous_stretches(genome, Interval("a", 0, len(text)), max_n_run_bp=0)
    assert [(s.start, s.end) for s in found] == expected
