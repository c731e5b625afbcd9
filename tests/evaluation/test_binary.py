"""Metrics against scikit-learn and by hand; NaN where nothing is defined; bootstrap."""

import math

import numpy as np
import pytest
from sklearn import metrics as sk

from dna_bigbird.evaluation.binary import (
    RankedLabel,
    auprc,
    auroc,
    best_f1_threshold,
    confusion,
    rounded,
)
from dna_bigbird.evaluation.bootstrap import bootstrap_weights, percentile_interval
from dna_bigbird.evaluation.summary import choose_thresholds, compare, per_label, summarise


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
def test_weights_mean_repeated_rows(seed):
    labels, scores = draw(seed, ties=True)
    weights = np.random.default_rng(seed).integers(0, 4, (3, len(labels))).astype(float)
    ranked, at = RankedLabel(labels, scores), confusion(labels, scores, 0.5, weights)
    for i, row in enumerate(weights):
        rows = np.repeat(np.arange(len(labels)), row.astype(int))
        repeated = labels[rows], scores[rows]
        assert ranked.auroc(weights)[i] == pytest.approx(sk.roc_auc_score(*repeated))
        assert ranked.auprc(weights)[i] == pytest.approx(sk.average_precision_score(*repeated))
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


def test_bootstrap_weights_draw_units_whole():
    units = np.array([7, 7, 3, 3, 3, 9])
    drawn = np.concatenate(list(bootstrap_weights(6, replicates=200, seed=1, units=units)))
    assert drawn.shape == (200, 6)
    for unit in (7, 3, 9):
        assert (drawn[:, units == unit].max(axis=1) == drawn[:, units == unit].min(axis=1)).all()
    assert (drawn[:, [0, 2, 5]].sum(axis=1) == 3).all()
    assert 0.8 < drawn[:, 0].mean() < 1.2
    again = np.concatenate(list(bootstrap_weights(6, replicates=50, seed=1, units=units)))
    assert (again == drawn[:50]).all()


def test_percentile_interval_needs_half_of_the_draws():
    assert percentile_interval([np.nan, 1, 1]) == (1, 1)
    assert all(map(math.isnan, percentile_interval([np.nan, 1])))


def test_interval_holds_the_truth_about_as_often_as_it_says():
    """For two normals one apart the AUROC is Phi(1 / sqrt 2) = 0.7602."""
    hits = 0
    for seed in range(60):
        labels, scores = draw(seed, n=150)
        found = summarise(labels[:, None], scores[:, None], [0.5], [""], seed=0, replicates=200)
        hits += found["auroc_low"] <= 0.7602 <= found["auroc_high"]
    assert 50 <= hits <= 60  # 95 % of 60 is 57


def test_one_label_summary():
    labels, scores = draw(0)
    found = summarise(labels[:, None], scores[:, None], [0.5], ["promoter"], seed=0, replicates=100)
    assert found["auroc"] == pytest.approx(sk.roc_auc_score(labels, scores))
    assert found["auroc_low"] < found["auroc"] < found["auroc_high"]
    assert (found["n"], found["n_positive"], found["threshold"]) == (200, int(labels.sum()), 0.5)
    keys = {"auroc", "auprc", "f1", "mcc", "precision", "recall"}
    assert keys | {f"{k}_{e}" for k in keys for e in ("low", "high")} == set(found) - {
        "threshold",
        "n",
        "n_positive",
    }
    again = summarise(labels[:, None], scores[:, None], [0.5], ["x"], seed=0, replicates=100)
    assert again == found


def many(seed=0, n=120):
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, 5)) < 0.3).astype(np.uint8)
    labels[:, 3] = 0  # no positive
    scores = rng.normal(size=(n, 5)) + labels * np.array([2, 1, 0, 0, 1])
    return labels, scores


def test_labels_without_a_score_are_left_out_and_counted():
    labels, scores = many()
    groups = ["TF", "TF", "HM", "HM", "empty"]
    labels[:, 4] = 1
    found = summarise(labels, scores, [0.5] * 5, groups, seed=0, replicates=50)
    defined = [sk.roc_auc_score(labels[:, i], scores[:, i]) for i in (0, 1, 2)]
    assert found["macro_auroc"] == pytest.approx(np.mean(defined))
    assert found["median_auroc_TF"] == pytest.approx(np.median(defined[:2]))
    assert found["mean_auroc_HM"] == pytest.approx(defined[2])
    assert math.isnan(found["median_auroc_empty"])
    assert math.isnan(found["median_auroc_empty_low"])
    assert (found["n_labels"], found["n_labels_undefined"]) == (5, 2)
    assert rounded(found)["median_auroc_empty"] is None
    assert found["macro_auroc_low"] < found["macro_auroc"] < found["macro_auroc_high"]


def test_difference_of_two_models():
    labels, scores = many()
    worse = scores + np.random.default_rng(1).normal(size=scores.shape) * 3
    gain = compare(labels, scores, worse, seed=0, replicates=200)
    assert gain["auroc_gain_low"] > 0
    backwards = compare(labels, worse, scores, seed=0, replicates=200)
    assert backwards["auroc_gain"] == pytest.approx(-gain["auroc_gain"])
    nothing = compare(labels, scores, scores, seed=0, replicates=20)
    assert (nothing["auroc_gain_low"], nothing["auroc_gain_high"]) == (0, 0)


def test_per_label_rows():
    labels, scores = many()
    names, groups = list("abcde"), ["TF"] * 5
    thresholds = choose_thresholds(labels, scores)
    rows = per_label(
        labels, scores, names, groups, baselines={"kmer": -scores}, thresholds_L=thresholds
    )
    assert [r["label"] for r in rows] == names
    assert rows[0]["auroc"] + rows[0]["kmer_auroc"] == pytest.approx(1)
    assert math.isnan(rows[3]["auroc"])
    assert math.isnan(rows[3]["kmer_auprc"])
    assert (rows[3]["n"], rows[3]["n_positive"]) == (120, 0)
    assert rows[0]["f1"] == pytest.approx(
        max(sk.f1_score(labels[:, 0], scores[:, 0] >= t) for t in scores[:, 0]), abs=1e-6
    )
