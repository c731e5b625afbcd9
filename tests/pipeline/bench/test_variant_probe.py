"""The probe: a chromosome is never in its own fit, and the fit is that of scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from dna_bigbird.bench.suites.suite import VariantRow
from dna_bigbird.bench.variant_sources import STRENGTHS, probe_folds, probe_scores


def table(seed=0, *, folds=4, rows=200, signal=1.5):
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < 0.3
    features = rng.normal(size=(rows, 6)) * 5 + 3
    features[:, 2] += 5 * signal * labels
    return features, labels, np.arange(rows) % folds


def rows_at(positions, chromosomes):
    return [
        VariantRow(f"chr{chrom}", pos, "A", "C", False, "", "", chrom)
        for pos, chrom in zip(positions, chromosomes, strict=True)
    ]


def test_a_signal_is_learnt_and_its_absence_is_chance():
    features, labels, folds = table()
    assert roc_auc_score(labels, probe_scores(features, labels, folds)) > 0.8
    features, labels, folds = table(signal=0)
    assert 0.35 < roc_auc_score(labels, probe_scores(features, labels, folds)) < 0.65


def test_a_fold_has_no_part_in_its_own_fit():
    features, labels, folds = table()
    scores = probe_scores(features, labels, folds)
    changed = labels.copy()
    changed[folds == 2] ^= True
    again = probe_scores(features, changed, folds)
    assert again[folds == 2] == pytest.approx(scores[folds == 2], abs=1e-12)
    assert not np.allclose(again[folds == 0], scores[folds == 0])


def test_the_fit_is_that_of_a_loop():
    """The strength by average precision on each inner fold held out, features scaled by the training rows."""
    features, labels, folds = table(5, folds=3, rows=90)
    expected = np.zeros(len(labels))

    def fitted(rows, strength):
        mean, sd = features[rows].mean(axis=0), features[rows].std(axis=0)
        model = LogisticRegression(C=strength, class_weight="balanced")
        model.fit((features[rows] - mean) / sd, labels[rows])
        return lambda test: model.predict_proba((features[test] - mean) / sd)[:, 1]

    for fold in range(3):
        inner = [other for other in range(3) if other != fold]
        means = []
        for strength in STRENGTHS:
            parts = []
            for held_out in inner:
                train = np.isin(folds, [f for f in inner if f != held_out])
                test = folds == held_out
                parts.append(average_precision_score(labels[test], fitted(train, strength)(test)))
            means.append(np.mean(parts))
        best = STRENGTHS[int(np.argmax(means))]
        expected[folds == fold] = fitted(folds != fold, best)(folds == fold)
    assert probe_scores(features, labels, folds) == pytest.approx(expected, abs=1e-6)


def test_a_fit_without_both_classes_scores_one_half():
    features, labels, folds = table(rows=40, folds=2)
    labels[folds == 0] = False
    scores = probe_scores(features, labels, folds)
    assert (scores[folds == 1] == 0.5).all()
    assert len(np.unique(scores[folds == 0])) > 1  # one fold to fit on: the middle strength


def test_folds_are_chromosomes_or_quarters_of_the_only_one():
    assert probe_folds(rows_at([5, 9, 7], ["2", "1", "2"])).tolist() == [1, 0, 1]
    positions = [80, 10, 20, 70, 30, 40, 60, 50]
    assert probe_folds(rows_at(positions, ["1"] * 8)).tolist() == [3, 0, 0, 3, 1, 1, 2, 2]
    assert set(probe_folds(rows_at([7, 7, 9], ["1"] * 3)).tolist()) == {0, 1}
