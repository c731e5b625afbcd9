"""Bits per base by their definition."""

import numpy as np
import pytest

from dna_bigbird.evaluation.language import bits_per_base, bits_per_base_interval


def test_definition():
    assert bits_per_base(np.log([2, 4, 8]), np.array([1, 1, 1])) == pytest.approx(2)
    assert bits_per_base(np.log(32000), 8.78) == pytest.approx(1.704, abs=0.001)


def test_tokens_are_weighed_by_their_base_pairs():
    """All nats over all base pairs, not the mean of each token's quotient."""
    assert bits_per_base(np.log([16, 2]), np.array([1, 4])) == pytest.approx(1.0)


def test_no_base():
    with pytest.raises(ValueError, match="cover no base"):
        bits_per_base(0.0, 0)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for trial in range(200):
        nll = rng.gamma(4, 25 * np.log(2), size=40)  # mean 100 bits an example
        low, high = bits_per_base_interval(nll, np.full(40, 50.0), seed=trial, draws=300)
        inside += low <= 2.0 <= high
    assert 175 <= inside <= 199


def test_interval_is_reproducible_and_shrinks_to_a_point():
    once = bits_per_base_interval([1.0, 2.0, 4.0], [1, 1, 1], seed=0)
    assert once == bits_per_base_interval([1.0, 2.0, 4.0], [1, 1, 1], seed=0)
    assert bits_per_base_interval([np.log(4)] * 5, [1] * 5, seed=0) == pytest.approx((2, 2))


def test_mismatched_sums():
    with pytest.raises(ValueError, match="one sum an example"):
        bits_per_base_interval([1.0], [1, 2], seed=0)
