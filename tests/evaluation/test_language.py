"""Bits per base by their definition."""

import numpy as np
import pytest

from dna_bigbird.metrics import language
from dna_bigbird.metrics.language import bits_per_base, by_stratum, interval


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
        bits = rng.gamma(4, 25, size=40)  # mean 100 bits an example
        found = interval("bits", bits, np.full(40, 50.0), seed=trial)
        inside += found["bits_low"] <= 2.0 <= found["bits_high"]
    assert 175 <= inside <= 199


def test_interval_of_a_share_is_about_the_normal_one():
    """400 coins of 1/4: the standard error is sqrt(3/16/400) = 0.0217."""
    heads = np.tile([1, 0, 0, 0], 100)
    found = interval("share", heads, np.ones(400), seed=1)
    assert found["share"] == 0.25
    assert found["share_low"] == pytest.approx(0.25 - 1.96 * 0.0217, abs=0.006)
    assert found["share_high"] == pytest.approx(0.25 + 1.96 * 0.0217, abs=0.006)
    assert interval("share", heads, np.ones(400), seed=1) == found


def test_interval_shrinks_to_a_point():
    assert interval("bits", np.full(5, 2.0), np.ones(5), seed=0) == {
        "bits": 2.0,
        "bits_low": 2.0,
        "bits_high": 2.0,
    }


def test_what_has_no_base_is_not_defined():
    nothing = {"bits": None, "bits_low": None, "bits_high": None}
    assert interval("bits", np.zeros(3), np.zeros(3), seed=0) == nothing


def test_an_interval_needs_half_of_the_draws(monkeypatch):
    """A class that two units hold is missed by every draw that leaves both out."""
    bases, drawn = np.array([0.0, 4.0, 4.0]), np.zeros((1000, 3))
    monkeypatch.setattr(language, "_weights", lambda count, seed: drawn)
    drawn[:501, 1] = 1
    assert interval("bits", 1.5 * bases, bases, seed=0)["bits_low"] == 1.5
    drawn[500] = 0
    found = interval("bits", 1.5 * bases, bases, seed=0)
    assert found == {"bits": 1.5, "bits_low": None, "bits_high": None}


def test_one_unit_with_bases_has_no_interval():
    """Ten kilobases that a model was scored on say nothing of the scatter between places."""
    nothing = {"bits_low": None, "bits_high": None}
    assert interval("bits", np.array([8.0]), np.array([4.0]), seed=0) == {"bits": 2.0} | nothing
    found = interval("bits", np.array([0, 8.0, 0]), np.array([0, 4.0, 0]), seed=0)
    assert found == {"bits": 2.0} | nothing


def test_mismatched_sums():
    with pytest.raises(ValueError, match="one sum per unit"):
        interval("bits", [1.0], [1, 2], seed=0)


def test_strata_add_up():
    """Two examples, classes a (10 + 30 bases), b (10 + 0) and c, which has none."""
    nats = np.log(2) * np.array([[20.0, 10, 0], [50, 0, 0]])
    bases = np.array([[10.0, 10, 0], [30, 0, 0]])
    table = by_stratum(["a", "b", "c"], nats, bases, seed=0)
    assert {name: (row["bits_per_base_masked"], row["n_bp"]) for name, row in table.items()} == {
        "a": (1.75, 40),
        "b": (1.0, 10),
        "c": (None, 0),
    }
    assert table["a"]["bits_per_base_masked_low"] == pytest.approx(50 / 30, abs=1e-6)
    assert table["a"]["bits_per_base_masked_high"] == 2.0
