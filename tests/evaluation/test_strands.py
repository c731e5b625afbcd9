"""Agreement of both strands, against loops and SciPy."""

import numpy as np
import pytest
from scipy import stats

from dna_bigbird.bench.task_scores import strand_agreement


@pytest.mark.parametrize(("label_type", "width"), [("multi-class", 3), ("multi-class", 2)])
def test_of_classes(label_type, width):
    rng = np.random.default_rng(0)
    forward, reverse = (rng.dirichlet(np.ones(width), 30) for _ in range(2))
    flips = [
        list(x).index(max(x)) != list(y).index(max(y))
        for x, y in zip(forward, reverse, strict=True)
    ]
    agreement = strand_agreement(label_type, forward, reverse)
    assert agreement["flip_rate"] == pytest.approx(np.mean(flips))
    pairs = [(x[k], y[k]) for x, y in zip(forward, reverse, strict=True) for k in range(1, width)]
    assert agreement["correlation"] == pytest.approx(stats.pearsonr(*zip(*pairs, strict=True))[0])


def test_of_labels_and_targets():
    rng = np.random.default_rng(1)
    forward, reverse = np.round(rng.random((2, 40, 2)), 1)
    values = list(zip(forward.ravel(), reverse.ravel(), strict=True))
    flips = np.mean([(x >= 0.5) != (y >= 0.5) for x, y in values])
    correlation = pytest.approx(stats.pearsonr(*zip(*values, strict=True))[0])
    assert strand_agreement("multi-label", forward, reverse) == {
        "flip_rate": pytest.approx(flips),
        "correlation": correlation,
    }
    assert strand_agreement("regression", forward, reverse) == {"correlation": correlation}


def test_equal_strands_agree_and_a_constant_has_no_correlation():
    scores = np.array([[0.2], [0.7], [0.4]])
    assert strand_agreement("binary", scores, scores) == {
        "flip_rate": 0,
        "correlation": pytest.approx(1),
    }
    constant = np.full((3, 1), 0.5)
    assert strand_agreement("binary", constant, scores)["correlation"] is None
