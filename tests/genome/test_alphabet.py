"""Every letter a FASTA file may hold has one stated meaning."""

import string

import pytest

from dna_bigbird.genome import normalise, reverse_complement

IUPAC = "ACGTURYSWKMBDHVN"


def test_every_iupac_code_in_either_case_is_accepted():
    assert normalise(IUPAC) == "ACGTT" + "N" * 11
    assert normalise(IUPAC.lower()) == normalise(IUPAC)


@pytest.mark.parametrize("letter", sorted(set(string.printable) - set(IUPAC + IUPAC.lower())))
def test_every_other_character_is_refused_with_its_position(letter):
    with pytest.raises(ValueError, match="at position 3 is no DNA letter"):
        normalise("AC" + letter + "GT")


def test_reverse_complement_is_an_involution_and_pairs_bases():
    pairs = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}
    sequence = "ACGTNNGATTACA"
    assert reverse_complement(sequence) == "".join(pairs[b] for b in reversed(sequence))
    assert reverse_complement(reverse_complement(sequence)) == sequence
