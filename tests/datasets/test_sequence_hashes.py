"""Hashes of sequences, against a loop over strings."""

import itertools

import pytest

from dna_bigbird.labelled.labelled_set import sequence_hash

PAIRS = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}


def test_equal_hashes_are_of_one_sequence_on_either_strand():
    """All sequences of up to 5 letters."""
    texts = ["".join(x) for n in range(1, 6) for x in itertools.product("ACGTN", repeat=n)]
    sequences_by_hash = {}
    for text in texts:
        sequences_by_hash.setdefault(sequence_hash(text), set()).add(text)
    expected = {
        frozenset({text, "".join(PAIRS[base] for base in reversed(text))}) for text in texts
    }
    assert set(map(frozenset, sequences_by_hash.values())) == expected


def test_hashes_do_not_change_between_versions():
    """Files of bundles keep them: BLAKE2b of AACG with 8 bytes, from the program b2sum -l 64."""
    for text in ("AACG", "CGTT", "aacg", "cgtU"):
        assert sequence_hash(text).to_bytes(8, "little").hex() == "5861edba9a359d86"


def test_a_letter_that_is_not_dna_is_refused():
    with pytest.raises(ValueError, match="'!' at position 3 is not a DNA letter"):
        sequence_hash("AC!")
