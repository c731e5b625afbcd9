"""Metrics against scikit-learn and by hand; NaN where nothing is defined; bootstrap."""

import math

import numpy as np
import pytest
from sklearn import metrics as sk

from dna_bigbird.metrics.binary import RankedLabel, auprc, auroc, best_f1_threshold, confusion
from dna_bigbird.metrics.bootstrap import Draws, draw_units, percentile_interval


def draw(seed, n=200, ties=False):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.3).astype(np.uint8)
    scores = rng.normal(size=n) + labels
    return labels, np.round(scores, 1 if ties else 12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_against_scikit_learn(seed, ties):
    labels, scores = draw(seed, ties=ties)
    assert auroc(labels, scores) == pytest.approx(sk.roc_auc_score(labels, scores), abs=1e-12)
    average_precision = sk.average_precision_score(labels, scores)
    assert auprc(labels, scores) == pytest.approx(average_precision, abs=1e-12)
    threshold = best_f1_threshold(labels, scores)
    called = scores >= threshold
    at = confusion(labels, scores, threshold)
    assert at.f1()[0] == pytest.approx(sk.f1_score(labels, called))
    assert at.mcc()[0] == pytest.approx(sk.matthews_corrcoef(labels, called))
    assert at.precision()[0] == pytest.approx(sk.precision_score(labels, called))
    assert at.recall()[0] == pytest.approx(sk.recall_score(labels, called))
    others = [sk.f1_score(labels, scores >= t) for t in scores]
    assert at.f1()[0] == pytest.approx(max(others))


@pytest.mark.parametrize("seed", range(3))
def test_a_draw_means_repeated_rows(seed):
    labels, scores = draw(seed, ties=True)
    rng = np.random.default_rng(seed)
    units = rng.integers(0, 40, len(labels))
    draws = Draws(units.astype(np.int32), rng.integers(0, 4, (40, 3)).astype(np.uint16))
    roc, pr = RankedLabel(labels, scores).areas(draws)
    at = confusion(labels, scores, 0.5, draws)
    for i, times in enumerate(draws.times.T):
        rows = np.repeat(np.arange(len(labels)), times[units])
        repeated = labels[rows], scores[rows]
        assert roc[i] == pytest.approx(sk.roc_auc_score(*repeated))
        assert pr[i] == pytest.approx(sk.average_precision_score(*repeated))
        assert at.f1()[i] == pytest.approx(sk.f1_score(repeated[0], repeated[1] >= 0.5))


def test_by_hand():
    labels, scores = [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]
    assert auroc(labels, scores) == 3 / 4
    assert auprc(labels, scores) == pytest.approx((1 + 2 / 3) / 2)
    at = confusion(labels, scores, 0.7)
    cells = (at.true_positive, at.false_positive, at.false_negative, at.true_negative)
    assert [x.tolist() for x in cells] == [[2], [1], [0], [1]]
    assert best_f1_threshold(labels, scores) == pytest.approx(0.4)
    assert auroc(labels, [0.5] * 4) == 0.5
    assert auprc(labels, [0.5] * 4) == 0.5


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1], []])
def test_one_class_has_no_score(labels):
    scores = np.linspace(0, 1, len(labels))
    assert math.isnan(auroc(labels, scores))
    assert math.isnan(auprc(labels, scores))
    assert best_f1_threshold(labels, scores) == 0.5
    assert math.isnan(confusion(labels, scores, 0.5).mcc()[0])


def test_what_is_called_decides_what_is_defined():
    nothing_called = confusion([1, 0], [0.1, 0.2], 0.5)
    assert math.isnan(nothing_called.precision()[0])
    assert (nothing_called.f1()[0], nothing_called.recall()[0], nothing_called.mcc()[0]) == (
        0,
        0,
        0,
    )
    no_positive = confusion([0, 0], [0.1, 0.9], 0.5)
    assert math.isnan(no_positive.f1()[0])
    assert math.isnan(no_positive.recall()[0])
    assert no_positive.precision()[0] == 0


def test_refusals():
    with pytest.raises(ValueError, match="1 scores are not finite"):
        auroc([0, 1], [0.5, np.nan])
    with pytest.raises(ValueError, match=r"labels have shape \(2,\), scores \(3,\)"):
        auroc([0, 1], [1, 2, 3])
    with pytest.raises(ValueError, match="labels must be 0 or 1"):
        auroc([0, 2], [1, 2])


def test_units_are_drawn_whole():
    units = np.array([7, 7, 3, 3, 3, 9])
    draws = draw_units(6, replicates=200, seed=1, units=units)
    assert draws.units.tolist() == [1, 1, 0, 0, 0, 2]
    assert draws.times.shape == (3, 200)
    assert (draws.times.sum(axis=0) == 3).all()
    assert 0.8 < draws.times[1].mean() < 1.2
    fewer = draw_units(6, replicates=50, seed=1, units=units)
    assert (fewer.times == draws.times[:, :50]).all()
    assert draw_units(4, replicates=2, seed=0).units.tolist() == [0, 1, 2, 3]
    assert len(draw_units(0, replicates=5, seed=0)) == 5


def test_parts_have_no_part_in_the_result(monkeypatch):
    labels, scores = draw(0, ties=True)
    draws = draw_units(200, replicates=30, seed=0)
    whole = RankedLabel(labels, scores).areas(draws)
    monkeypatch.setattr(Draws.parts, "__defaults__", (3000,))
    assert len(list(draws.parts(1000))) == 10
    for a, b in zip(RankedLabel(labels, scores).areas(draws), whole, strict=True):
        assert (a == b).all()


def test_percentile_interval_needs_half_of_the_draws():
    assert percentile_interval([np.nan, 1, 1]) == (1, 1)
    assert all(map(math.isnan, percentile_interval([np.nan, 1])))
    assert all(map(math.isnan, percentile_interval([])))
