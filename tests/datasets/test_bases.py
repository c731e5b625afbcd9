"""Bases as ids."""

import pytest

from dna_bigbird.training.network_baseline import BaseTokenizer


def test_ids_of_bases():
    ids = BaseTokenizer().encode("NTGCAA")
    assert ids.tolist() == [4, 3, 2, 1, 0, 0]
    assert BaseTokenizer().encode("").shape == (0,)


@pytest.mark.parametrize("letters", ["ACGX", "acg", "AC\u00e9"])
def test_other_letters_are_refused(letters):
    with pytest.raises(ValueError, match=r"are not A C G T N"):
        BaseTokenizer().encode(letters)


def test_shorter_sequences_are_filled_up_with_n():
    assert BaseTokenizer(6).encode("ACGT").tolist() == [0, 1, 2, 3, 4, 4]
    assert BaseTokenizer(2).encode("ACGT").tolist() == [0, 1, 2, 3]
