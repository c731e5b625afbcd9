"""Counts of gapped k-mers against a list of all of them."""

from itertools import combinations

import numpy as np
import pytest

from dna_bigbird.baselines import gkm
from dna_bigbird.baselines.gkm import GappedKernel, kmer_matrix, kmers_of
from dna_bigbird.genome import reverse_complement


def all_counts(sequence, length, informative, *, together):
    """Gapped words as text, '-' for a gap, with how often each occurs."""
    counts = {}
    for strand in [sequence, reverse_complement(sequence)] if together else [sequence]:
        for start in range(len(strand) - length + 1):
            word = strand[start : start + length]
            if "N" in word:
                continue
            for read in combinations(range(length), informative):
                gapped = "".join(x if i in read else "-" for i, x in enumerate(word))
                counts[gapped] = counts.get(gapped, 0) + 1
    return counts


def features(sequences, length, informative, *, together):
    counts = [all_counts(x, length, informative, together=together) for x in sequences]
    names = sorted(set().union(*counts))
    return np.array([[each.get(name, 0) for name in names] for each in counts], float)


def drawn(rng, number, length, letters="ACGTACGTACGTN"):
    return ["".join(rng.choice(list(letters), length)) for _ in range(number)]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("length", "informative"), [(2, 1), (4, 2), (5, 5), (6, 3), (7, 4)])
def test_products_are_those_of_a_list_of_all_gapped_words(
    length, informative, together, monkeypatch
):
    sequences = [*drawn(np.random.default_rng(length), 20, 40), "", "ACG", "N" * 20]
    expected = features(sequences, length, informative, together=together)
    kernel = GappedKernel(length, informative)
    words = kmer_matrix(sequences, length, together=together)
    products = expected @ expected.T
    np.testing.assert_allclose(kernel.matrix(words, words), products, rtol=1e-5, atol=1e-2)
    lengths = np.sqrt(products.diagonal())
    for pair_words in (gkm.PAIR_WORDS, 0):
        monkeypatch.setattr(gkm, "PAIR_WORDS", pair_words)
        np.testing.assert_allclose(kernel.lengths(words), np.where(lengths, lengths, 1), rtol=1e-5)


@pytest.mark.parametrize(("length", "informative"), [(10, 6), (11, 7)])
def test_products_of_the_sizes_that_gkm_svm_reads(length, informative):
    sequences = drawn(np.random.default_rng(0), 3, 60, "ACGT")
    expected = features(sequences, length, informative, together=True)
    words = kmer_matrix(sequences, length, together=True)
    found = GappedKernel(length, informative).matrix(words, words)
    np.testing.assert_allclose(found, expected @ expected.T, rtol=1e-4)


def test_a_sequence_and_its_reverse_complement_have_the_same_words():
    sequences = drawn(np.random.default_rng(1), 1, 50)
    both = [sequences[0], reverse_complement(sequences[0])]
    words = kmer_matrix(both, 6, together=True).toarray()
    np.testing.assert_array_equal(words[0], words[1])
    apart = kmer_matrix(both, 6, together=False).toarray()
    assert (apart[0] != apart[1]).any()
    np.testing.assert_array_equal(words[0], apart[0] + apart[1])


def test_words_with_an_unknown_base_are_left_out():
    assert kmers_of("ACNGTAC", 3, together=False).tolist() == [2 * 16 + 3 * 4, 3 * 16 + 1]
    assert not len(kmers_of("AC", 3, together=True))
