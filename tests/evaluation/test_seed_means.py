"""Intervals over seeds and examples, against SciPy's t tests where one part is alone, and by hand."""

import numpy as np
import pytest
from scipy import stats

from dna_bigbird.metrics.seed_means import (
    SeedScores,
    SeedSums,
    cells,
    difference,
    holm,
    mean,
)

TEN = np.array([10.0, 10.0])
FIRST = SeedSums(np.array([[4.0, 6.0], [6.0, 8.0]]), TEN)
SECOND = SeedSums(np.array([[2.0, 2.0], [2.0, 4.0], [3.0, 5.0]]), TEN)


def test_both_parts_by_hand():
    """Scores 0.5, 0.7 and 0.2, 0.3, 0.4; means over seeds by example (5, 7) and (7/3, 11/3)."""
    estimate = difference(FIRST, SECOND, same_tokens=True)
    assert estimate.value == pytest.approx(0.3)
    # Sums of squares around the means 0.02 and 0.02, over S (S - 1) = 2 and 6.
    assert estimate.se_seeds**2 == pytest.approx(0.02 / 2 + 0.02 / 6)
    # By example 8/3 and 10/3, where 3 each is expected: 2/1 x (1/9 + 1/9) / 20^2.
    assert estimate.se_examples**2 == pytest.approx(2 * (2 / 9) / 400)
    total = 0.01 + 0.02 / 6 + 1 / 900
    assert estimate.se**2 == pytest.approx(total)
    freedom = total**2 / (0.01**2 / 1 + (0.02 / 6) ** 2 / 2 + (1 / 900) ** 2 / 1)
    assert estimate.degrees_of_freedom == pytest.approx(freedom)
    half = stats.t.ppf(0.975, freedom) * total**0.5
    assert estimate.ends == pytest.approx((0.3 - half, 0.3 + half))
    assert estimate.p == pytest.approx(2 * stats.t.sf(0.3 / total**0.5, freedom))


def test_unpaired_examples_add_up():
    """(5, 7) and (7/3, 11/3) around their own means: 1, 1 and 2/3, 2/3."""
    estimate = difference(FIRST, SECOND, same_tokens=False)
    assert estimate.se_examples**2 == pytest.approx(2 * 2 / 400 + 2 * (8 / 9) / 400)


def test_a_mean_by_hand():
    estimate = mean(FIRST)
    assert (estimate.value, FIRST.sd) == (pytest.approx(0.6), pytest.approx(0.02**0.5))
    assert estimate.se**2 == pytest.approx(0.02 / 2 + 2 * 2 / 400)


def test_seeds_alone_are_welchs_test():
    """Every example of a training has its score: nothing scatters over examples."""
    bottoms = np.array([3.0, 8.0, 5.0])
    scores = [1.62, 1.65, 1.60], [1.66, 1.71, 1.67, 1.69]
    sums = [SeedSums(np.outer(values, bottoms), bottoms) for values in scores]
    estimate = difference(*sums, same_tokens=True)
    expected = stats.ttest_ind(*scores, equal_var=False)
    assert estimate.se_examples == pytest.approx(0, abs=1e-12)
    assert estimate.p == pytest.approx(expected.pvalue)
    assert estimate.ends == pytest.approx(tuple(expected.confidence_interval()))


def test_examples_alone_are_the_paired_test():
    """One training each, as many bases in every example."""
    rng = np.random.default_rng(0)
    tops = rng.normal(80, 5, size=30) + rng.normal(0, 1, size=(2, 30)) + [[0.5], [0]]
    sums = [SeedSums(row[None], np.full(30, 50.0)) for row in tops]
    estimate = difference(*sums, same_tokens=True)
    expected = stats.ttest_rel(*(tops / 50))
    assert estimate.p == pytest.approx(expected.pvalue)
    assert estimate.ends == pytest.approx(tuple(expected.confidence_interval()))
    assert (sums[0].sd, estimate.se_seeds) == (None, 0)


def test_examples_of_unequal_size_against_the_bootstrap():
    rng = np.random.default_rng(1)
    bottoms = rng.integers(20, 60, size=200).astype(float)
    tops = np.array([1.7, 1.68])[:, None] * bottoms + rng.normal(0, 3, size=(2, 200))
    sums = [SeedSums(row[None], bottoms) for row in tops]
    draws = rng.integers(200, size=(4000, 200))
    drawn = (tops[0] - tops[1])[draws].sum(axis=1) / bottoms[draws].sum(axis=1)
    estimate = difference(*sums, same_tokens=True)
    assert estimate.se_examples == pytest.approx(drawn.std(), rel=0.05)


def test_intervals_cover_as_often_as_they_claim():
    """Three seeds and 40 examples, both scattering, no true difference: about 19 of 20 contain 0."""
    rng = np.random.default_rng(2)
    bottoms = np.full(40, 10.0)
    covered = 0
    for _ in range(1000):
        examples = rng.normal(17, 3, size=40)
        sums = [
            SeedSums(
                examples + rng.normal(0, 0.2, size=(3, 1)) + rng.normal(0, 1, size=(3, 40)), bottoms
            )
            for _ in range(2)
        ]
        low, high = difference(*sums, same_tokens=True).ends
        covered += low <= 0 <= high
    assert 940 <= covered <= 995


def test_equal_models():
    same = SeedSums(np.array([[1.0, 2.0]]), TEN)
    estimate = difference(same, same, same_tokens=True)
    assert (estimate.value, estimate.p, estimate.ends) == (0, 1, (0, 0))


def test_correction_for_several_comparisons():
    """Sorted p times 4, 3, 2, 1, never falling, at most 1."""
    assert holm([0.02, 0.011, 0.4, 0.6]) == pytest.approx([0.06, 0.044, 0.8, 0.8])
    assert holm([0.7, 0.9]) == [1, 1]


def test_one_block_shows_no_difference():
    """What another block would give is not known, however many seeds there are."""
    first, second = (SeedSums(x.tops[:, :1], TEN[:1]) for x in (FIRST, SECOND))
    estimate = difference(first, second, same_tokens=True)
    assert np.isnan([*estimate.ends, estimate.p]).all()
    assert holm([estimate.p, 0.01])[1] == 0.02
    alone = SeedScores({"auroc": [0.9, 0.8]}, {"auroc": np.full(100, 0.85)}, 1)
    assert np.isnan([*cells("x", alone.minus(alone, "auroc")).values()][1:]).all()
