"""Shuffles that keep dinucleotides: counts by a loop, and all possible orders of a short sequence."""

import itertools
from collections import Counter

import numpy as np
import pytest

from dna_bigbird.genome.dinucleotide_shuffle import shuffle_dinucleotides


def counted(sequence: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for i in range(len(sequence) - 1):
        pair = sequence[i : i + 2]
        counts[pair] = counts.get(pair, 0) + 1
    return counts


@pytest.mark.parametrize("length", [3, 10, 57, 400])
def test_dinucleotides_and_ends_stay(length, random_dna):
    for seed in range(20):
        sequence = random_dna(length, seed)
        shuffled = shuffle_dinucleotides(sequence, np.random.default_rng(seed))
        assert counted(shuffled) == counted(sequence)
        assert (shuffled[0], shuffled[-1]) == (sequence[0], sequence[-1])


def test_the_order_changes(random_dna):
    sequence = random_dna(200, 0)
    shuffled = shuffle_dinucleotides(sequence, np.random.default_rng(1))
    assert sum(a != b for a, b in zip(sequence, shuffled, strict=True)) > 100


@pytest.mark.parametrize("sequence", ["ACAGACGTA", "AACCAGACAT"])
def test_each_possible_order_is_drawn_equally_often(sequence):
    """All sequences with these dinucleotides, by trying every order of the letters."""
    possible = {
        order
        for letters in set(itertools.permutations(sequence[1:-1]))
        if counted(order := sequence[0] + "".join(letters) + sequence[-1]) == counted(sequence)
    }
    assert len(possible) > 5
    rng = np.random.default_rng(0)
    draws = 400 * len(possible)
    drawn = Counter(shuffle_dinucleotides(sequence, rng) for _ in range(draws))
    assert drawn.keys() == possible
    chi2 = sum((drawn[order] - 400) ** 2 / 400 for order in possible)
    freedom = len(possible) - 1
    assert chi2 < freedom + 4 * (2 * freedom) ** 0.5


def test_a_sequence_with_a_single_order_stays():
    rng = np.random.default_rng(0)
    for sequence in ("", "A", "AC", "AAAA", "ACGT", "AAACCC"):
        assert shuffle_dinucleotides(sequence, rng) == sequence
