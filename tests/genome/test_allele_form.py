"""Equivalent ways to write an allele have one form: every way to make a haplotype, by trying them all."""

import itertools

import numpy as np
import pytest

from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.allele_form import allele_form

NO_LIMIT = 10**6


@pytest.fixture
def genome_of(tmp_path):
    number = itertools.count()

    def written(bases):
        path = tmp_path / f"{next(number)}.fa"
        path.write_text(f">c\n{bases}\n")
        return Genome(path)

    return written


def spellings(bases, haplotype):
    """Every start, REF and ALT that make a haplotype."""
    for start in range(len(bases) + 1):
        for end in range(start, len(bases) + 1):
            after = len(bases) - end
            if bases[:start] == haplotype[:start] and len(haplotype) >= start + after:
                alt = haplotype[start : len(haplotype) - after]
                if haplotype[len(haplotype) - after :] == bases[end:]:
                    yield start, bases[start:end], alt


def haplotypes(bases, rng):
    for _ in range(8):
        start = int(rng.integers(len(bases)))
        end = start + int(rng.integers(0, 4))
        alt = "".join(rng.choice(list("AC"), size=int(rng.integers(0, 4))))
        yield bases[:start] + alt + bases[end:]


@pytest.mark.parametrize("letters", ["A", "AC", "ACGT"])
@pytest.mark.parametrize("longest", [3, NO_LIMIT])
def test_every_spelling_has_the_same_form_on_both_strands(genome_of, letters, longest):
    rng = np.random.default_rng(0)
    for _ in range(10):
        bases = "".join(rng.choice(list(letters), size=12))
        genome, mirrored = genome_of(bases), genome_of(reverse_complement(bases))
        for haplotype in haplotypes(bases, rng):
            if haplotype == bases:
                continue
            forms = {
                allele_form(genome, Interval("c", start, start + len(ref)), ref, alt, longest)
                for start, ref, alt in spellings(bases, haplotype)
            }
            (form,) = forms
            start, end = form.interval.start, form.interval.end
            assert bases[start:end] == form.ref
            assert bases[:start] + form.alt + bases[end:] == haplotype
            (other,) = {
                allele_form(mirrored, Interval("c", first, first + len(ref)), ref, alt, longest)
                for first, ref, alt in spellings(
                    reverse_complement(bases), reverse_complement(haplotype)
                )
            }
            assert (other.ref, other.alt) == tuple(map(reverse_complement, (form.ref, form.alt)))
            assert other.interval.start == len(bases) - end


def test_a_repeat_longer_than_the_bases_read_at_once(genome_of):
    genome = genome_of("G" + "AC" * 500 + "T")
    form = allele_form(genome, Interval("c", 600, 603), "CAC", "C", NO_LIMIT)
    assert (form.interval.start, form.interval.end) == (1, 1001)
    cut = allele_form(genome, Interval("c", 3, 5), "AC", "", 100)
    assert (cut.interval.start, cut.interval.end) == (451, 551)


def test_letters_and_bases_that_stay_the_same(genome_of):
    genome = genome_of("acgtRNNacgt")
    assert allele_form(genome, Interval("c", 1, 4), "CGT", "cAt", 9).ref == "G"
    assert allele_form(genome, Interval("c", 4, 7), "NNN", "N", 9).interval == Interval("c", 5, 7)
    same = Interval("c", 0, 2)
    assert allele_form(genome, same, "AC", "ac", 9).interval == same
