"""Every letter a FASTA file may hold has one stated meaning."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.genome import normalise, reverse_complement
from dna_bigbird.genome.alphabet import IS_UNKNOWN, normalise_bytes

IUPAC = "ACGTURYSWKMBDHVN"


def test_every_iupac_code_in_either_case_is_accepted():
    assert normalise(IUPAC) == "ACGTT" + "N" * 11
    assert normalise(IUPAC.lower()) == normalise(IUPAC)


@pytest.mark.parametrize("letter", sorted(set(string.printable) - set(IUPAC + IUPAC.lower())))
def test_every_other_character_is_refused_with_its_position(letter):
    with pytest.raises(ValueError, match="at position 3 is not a DNA letter"):
        normalise("AC" + letter + "GT")


@given(st.binary(max_size=60) | st.text("ACGTNacgtnRYkmUuX", max_size=60).map(str.encode))
def test_bytes_are_normalised_like_text(letters):
    text = letters.decode("latin-1")
    try:
        expected = normalise(text)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            normalise_bytes(letters)
        return
    assert normalise_bytes(letters) == expected
    assert [flag == 1 for flag in letters.translate(IS_UNKNOWN)] == [c == "N" for c in expected]


def test_reverse_complement_is_an_involution_and_pairs_bases():
    pairs = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}
    sequence = "ACGTNNGATTACA"
    assert reverse_complement(sequence) == "".join(pairs[b] for b in reversed(sequence))
    assert reverse_complement(reverse_complement(sequence)) == sequence
