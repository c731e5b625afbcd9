"""Probabilities from logits: exact to a rounding step, and independent of their neighbours."""

import numpy as np
from scipy.special import expit

from dna_bigbird.prediction.variants.effects import sigmoid

LOGITS = np.random.default_rng(0).normal(size=5000) * 6


def test_as_scipy():
    """Rounded to float32, as predictions are stored, nothing differs."""
    np.testing.assert_array_max_ulp(sigmoid(LOGITS), expit(LOGITS), maxulp=2)
    assert np.array_equal(sigmoid(LOGITS).astype("f4"), expit(LOGITS).astype("f4"))


def test_a_value_does_not_depend_on_the_others():
    whole = sigmoid(LOGITS)
    for size in range(1, 40):
        for start in range(0, 200, 7):
            part = slice(start, start + size)
            assert np.array_equal(sigmoid(LOGITS[part].copy()), whole[part])
    assert np.array_equal(sigmoid(LOGITS[::3]), whole[::3])


def test_the_argument_stays():
    logits = LOGITS.copy()
    sigmoid(logits)
    assert np.array_equal(logits, LOGITS)
