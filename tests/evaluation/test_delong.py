"""DeLong's variance against its definition, row by row, and against the bootstrap."""

import math

import numpy as np
import pytest

from dna_bigbird.metrics.binary import RankedLabel
from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.label_areas import delong_interval


def by_definition(labels, scores):
    """DeLong et al. 1988: variance of each row's mean win over all rows of the other class."""
    positives, negatives = scores[labels == 1], scores[labels == 0]
    wins = np.array([[(p > q) + (p == q) / 2 for q in negatives] for p in positives])
    of_positives, of_negatives = wins.mean(axis=1), wins.mean(axis=0)
    return of_positives.var(ddof=1) / len(positives) + of_negatives.var(ddof=1) / len(negatives)


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize("seed", range(6))
def test_against_the_definition(seed, digits):
    rng = np.random.default_rng(seed)
    labels = (rng.random(60) < (0.1, 0.5, 0.9)[seed % 3]).astype(np.uint8)
    labels[:4] = [0, 0, 1, 1]
    scores = np.round(rng.normal(size=60) + labels, digits)
    expected = by_definition(labels, scores)
    assert RankedLabel(labels, scores).delong_variance() == pytest.approx(expected, rel=1e-12)
    as_stored = scores.astype(np.float32)
    assert RankedLabel(labels, as_stored).delong_variance() == pytest.approx(
        by_definition(labels, as_stored), rel=1e-12
    )


def test_about_the_bootstrap_of_single_rows():
    rng = np.random.default_rng(3)
    labels = (rng.random(3000) < 0.05).astype(np.uint8)
    ranked = RankedLabel(labels, rng.normal(size=3000) + labels)
    drawn, _ = ranked.areas(draw_units(3000, replicates=1000, seed=0))
    assert math.sqrt(ranked.delong_variance()) == pytest.approx(drawn.std(), rel=0.1)


@pytest.mark.parametrize("labels", [[0, 0, 1], [1, 1, 0], [0, 0, 0], []])
def test_one_row_of_a_class_has_no_variance(labels):
    assert math.isnan(RankedLabel(labels, np.arange(len(labels))).delong_variance())


def test_an_area_of_one_has_no_interval():
    ranked = RankedLabel([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    assert ranked.delong_variance() == 0
    assert all(map(math.isnan, delong_interval(1.0, 0.0)))
    assert all(map(math.isnan, delong_interval(math.nan, math.nan)))


def test_interval_holds_the_truth_about_as_often_as_it_says():
    """For two normals one apart the AUROC is Phi(1 / sqrt 2) = 0.7602."""
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        labels = (rng.random(150) < 0.3).astype(np.uint8)
        ranked = RankedLabel(labels, rng.normal(size=150) + labels)
        low, high = delong_interval(float(ranked.areas()[0][0]), ranked.delong_variance())
        assert 0 < low < high < 1
        hits += low <= 0.7602 <= high
    assert 182 <= hits <= 198  # 95 % of 200 is 190
