"""Sources without a network: what is counted never includes the surroundings of a variant."""

import numpy as np

from dna_bigbird.bench import variant_sources
from dna_bigbird.bench.suites.suite import VariantRow
from dna_bigbird.bench.variant_sources import (
    counted_intervals,
    counting_ratios,
    gc_content,
    random_scores,
)
from dna_bigbird.genome import Genome
from tests.tiny_bundle import draw_dna


def genome_of(tmp_path, **chromosomes):
    path = tmp_path / "g.fa"
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in chromosomes.items()))
    return Genome(path)


def row(chrom, pos, ref, alt):
    return VariantRow(chrom, pos, ref, alt, False, "")


def test_gc_content_leaves_out_unknown_bases(tmp_path):
    genome = genome_of(tmp_path, a="NNGCAAAT")
    # bases 3 to 6 are G C A A; bases 1 to 4 are N N G C; the last window runs past the end: A A T
    rows = [row("a", 5, "A", "C"), row("a", 3, "G", "C"), row("a", 8, "T", "C")]
    assert gc_content(rows, genome, 4).tolist() == [0.5, 1.0, 0.0]


def test_what_is_counted_is_the_rest_of_a_small_genome(tmp_path):
    genome = genome_of(tmp_path, a="A" * 500, b="C" * 100)
    rows = [row("a", 101, "A", "C"), row("a", 120, "A", "C"), row("a", 490, "A", "C")]
    covered = np.zeros(500, dtype=int)
    for interval in counted_intervals(rows, genome):
        if interval.chrom == "a":
            covered[interval.start : interval.end] += 1
    expected = np.ones(500, dtype=int)
    for variant in rows:
        expected[max(0, variant.pos - 1 - 32) : variant.pos + 32] = 0
    assert covered.tolist() == expected.tolist()
    assert [(x.start, x.end) for x in counted_intervals(rows, genome) if x.chrom == "b"] == [(0, 100)]  # fmt: skip


def test_of_a_large_genome_evenly_spaced_pieces_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(variant_sources, "COUNTED_BP", 1000)
    monkeypatch.setattr(variant_sources, "PIECE_BP", 100)
    genome = genome_of(tmp_path, a="A" * 9000, b="C" * 1000)
    intervals = counted_intervals([], genome)
    assert [x.start for x in intervals if x.chrom == "a"] == list(range(0, 9000, 1000))
    assert {x.length for x in intervals} == {100}


def test_counts_prefer_the_base_that_the_genome_repeats(tmp_path):
    """A repeat of one unit, in which one copy has another base."""
    unit = draw_dna(60, 3)
    text = unit * 120
    at = 60 * 50 + 30
    usual = text[at]
    other = "ACGT"[("ACGT".index(usual) + 1) % 4]
    genome = genome_of(tmp_path, a=text[:at] + other + text[at + 1 :])
    variants = [row("a", at + 1, other, usual)]
    ratios = counting_ratios(variants, genome)
    assert ratios[0] > 2  # the counts do not know the base that is there
    assert sum(each.length for each in counted_intervals(variants, genome)) == len(text) - 65
    assert counting_ratios([row("a", 50, "A", "C")], genome_of(tmp_path, a="A" * 1500)) is None


def test_random_scores_depend_on_the_seed_alone():
    first = random_scores(50, [0, 1])
    assert first.shape == (2, 50)
    assert np.array_equal(first, random_scores(50, [0, 1]))
    assert abs(np.corrcoef(first)[0, 1]) < 0.5
