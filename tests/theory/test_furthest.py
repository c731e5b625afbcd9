"""The furthest vector: against every pair of distances."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dna_bigbird.theory import theory_furthest as furthest


def rational_unit_vectors(num_vectors, num_dims, seed):
    """Draw unit vectors with rational coordinates: (N, D) of Fraction.

    A whole-number point t of D - 1 coordinates is projected from the north pole onto the sphere:
    (2 t, |t|² - 1) / (|t|² + 1).
    """
    rng = np.random.default_rng(seed)
    vectors = np.empty((num_vectors, num_dims), dtype=object)
    for i in range(num_vectors):
        t = rng.integers(-9, 10, num_dims - 1).tolist()
        square = sum(x * x for x in t)
        vectors[i] = [Fraction(x, square + 1) for x in [*(2 * x for x in t), square - 1]]
    return vectors


def is_furthest(vectors, answers):
    """By squared distances of all pairs, with the numbers of the array."""
    for vector, answer in zip(vectors, answers, strict=True):
        distances = [((vector - other) ** 2).sum() for other in vectors]
        if ((vector - answer) ** 2).sum() != max(distances):
            return False
    return True


def test_one_layer_is_exact_in_fractions():
    vectors = rational_unit_vectors(8, 9, seed=0)
    assert {(vector * vector).sum() for vector in vectors} == {1}
    answers = furthest.furthest_by_attention(vectors)
    assert is_furthest(vectors, answers)
    assert not is_furthest(vectors, np.roll(answers, 1, axis=0))


@pytest.mark.slow
def test_64_vectors_in_fractions():
    vectors = rational_unit_vectors(64, furthest.dimensions(64), seed=1)
    assert is_furthest(vectors, furthest.furthest_by_attention(vectors))


@pytest.mark.parametrize("count", [8, 64, 256])
def test_one_layer_is_exact_in_whole_numbers(count):
    vectors, length = furthest.whole_unit_vectors(count, furthest.dimensions(count), seed=2)
    assert ((vectors**2).sum(axis=1) == length**2).all()
    answers = furthest.furthest_by_attention(vectors)
    assert answers.dtype == np.int64
    assert is_furthest(vectors, answers)


def test_the_share_of_right_answers_follows_the_share_of_edges():
    for share in (0.05, 0.25, 0.5):
        right = furthest.share_right(256, 64, share, seed=0)
        # Binomial with 256 draws: five standard deviations.
        assert abs(right - share) < 5 * (share * (1 - share) / 256) ** 0.5 + 0.01
    assert furthest.share_right(256, 64, 1.0, seed=0) == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_orthogonal_pairs_as_by_all_pairs(seed):
    rng = np.random.default_rng(seed)
    vectors = (rng.random((12, 9)) < 0.55).astype(int)
    exists = any(
        (vectors[i] * vectors[j]).sum() == 0 for i, j in itertools.product(range(12), repeat=2)
    )
    pair = furthest.orthogonal_pair(vectors)
    assert (pair is not None) == exists
    if pair is not None:
        assert (vectors[pair[0]] * vectors[pair[1]]).sum() == 0


@pytest.mark.parametrize(("count", "dims"), [(8, 5), (32, 25)])
def test_about_one_pair_of_the_zeros_and_ones_is_orthogonal(count, dims):
    """n (n - 1) / 2 pairs, each with probability 2 / n²: (n - 1) / n of them, in the mean of 300 seeds."""
    pairs = []
    for seed in range(300):
        vectors = furthest.zeros_and_ones(count, dims, seed)
        pairs.append(int((np.triu(vectors @ vectors.T == 0, 1)).sum()))
    assert abs(np.mean(pairs) - (count - 1) / count) < 5 * np.std(pairs, ddof=1) / 300**0.5
    assert 0 in pairs


def test_normalising_boolean_vectors_changes_the_furthest_not_whether_it_is_orthogonal():
    vectors = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert (vectors @ vectors.T)[0].tolist() == [2, 1, 2]
    assert (unit @ unit.T)[1].argmin() == 2  # 0.5, although all its products are 1
    assert ((vectors @ vectors.T == 0) == np.isclose(unit @ unit.T, 0)).all()
