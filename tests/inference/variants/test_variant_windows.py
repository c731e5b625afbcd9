"""Windows of alleles against haplotypes made by editing the chromosome as a string."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.prediction.variants.effects import allele_windows
from dna_bigbird.prediction.variants.sites import longest_allele

LENGTH = 60


def edited(chromosome: str, start: int, end: int, allele: str, window: int) -> str:
    """The forward window: `window // 2` bases before the centre of what is replaced."""
    margin = "N" * 200
    first = len(margin) + (start + end) // 2 - window // 2
    haplotype = margin + chromosome[:start] + allele + chromosome[end:] + margin
    return haplotype[first : first + window]


@pytest.fixture
def chromosome(tmp_path, random_dna):
    bases = random_dna(LENGTH, 1)
    (tmp_path / "toy.fa").write_text(f">chr1\n{bases}\n")
    return Genome(tmp_path / "toy.fa"), bases


@pytest.mark.parametrize("window", [2, 3, 8, 9, 40, 41, 100])
def test_windows_are_those_of_an_edited_chromosome(chromosome, random_dna, window):
    genome, bases = chromosome
    other = reverse_complement(bases)
    rng = np.random.default_rng(window)
    longest = min(longest_allele(window), 12)
    for seed in range(50):
        start = int(rng.integers(LENGTH))
        end = min(LENGTH, start + int(rng.integers(1, longest + 1)))
        alts = [random_dna(int(n), seed) for n in rng.integers(0, longest + 1, size=3)]
        forward, reverse = allele_windows(
            genome, Interval("chr1", start, end), [bases[start:end], *alts], window
        )
        for allele, on_forward, on_reverse in zip(
            [bases[start:end], *alts], forward, reverse, strict=True
        ):
            assert on_forward == edited(bases, start, end, allele, window)
            assert on_reverse == edited(
                other, LENGTH - end, LENGTH - start, reverse_complement(allele), window
            )


def test_the_centre_drawn_by_hand(tmp_path):
    (tmp_path / "toy.fa").write_text(">chr1\nAAAAGTCCCC\n")
    genome = Genome(tmp_path / "toy.fa")
    even = allele_windows(genome, Interval("chr1", 4, 5), ["G", "A"], 4)
    assert even == (["AAGT", "AAAT"], ["GACT", "GATT"])
    odd = allele_windows(genome, Interval("chr1", 4, 5), ["G", "A"], 5)
    assert odd == (["AAGTC", "AAATC"], ["GACTT", "GATTT"])
    at_the_end = allele_windows(genome, Interval("chr1", 0, 1), ["A"], 4)
    assert at_the_end == (["NNAA"], ["TTTN"])


def test_lower_case_alleles_are_the_same(chromosome):
    genome, _ = chromosome
    site = Interval("chr1", 30, 31)
    assert allele_windows(genome, site, ["acg"], 20) == allele_windows(genome, site, ["ACG"], 20)
