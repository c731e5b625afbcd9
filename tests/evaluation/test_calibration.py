"""Calibration by definition, against scikit-learn, and on probabilities whose error is known."""

import math

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from dna_bigbird.metrics.calibration import Platt, calibrate, fit_platt, reliability


def logit(p):
    return np.log(p / (1 - p))


def weighted(seed, n=40_000, weight=8.0):
    """Probabilities that a perfect model has when positives weigh 8: its odds are 8 times too high."""
    rng = np.random.default_rng(seed)
    true = 1 / (1 + np.exp(-rng.normal(-3, 1.2, size=n)))
    odds = weight * true / (1 - true)
    return (rng.random(n) < true).astype(np.uint8), odds / (1 + odds)


def test_against_scikit_learn_and_the_definition():
    labels, probabilities = weighted(0)
    found = reliability(labels, probabilities)
    stored = probabilities.astype(np.float32)
    assert found.brier() == pytest.approx(brier_score_loss(labels, stored))
    table = found.table()
    shares, means = calibration_curve(labels, stored, n_bins=10, strategy="quantile")
    assert [row["mean_probability"] for row in table] == pytest.approx(means, rel=0.02)
    assert [row["share_positive"] for row in table] == pytest.approx(shares, abs=0.01)
    assert sum(row["n"] for row in table) == len(labels)
    assert sum(row["n_positive"] for row in table) == labels.sum()
    assert max(row["n"] for row in table) / min(row["n"] for row in table) < 1.1
    assert found.ece() == pytest.approx(np.mean(np.abs(means - shares)), abs=0.002)


def test_by_hand():
    found = reliability([0, 1, 1, 1], [0.5, 0.5, 1.0, 1.0])
    assert found.table() == [
        {"n": 2, "n_positive": 1, "mean_probability": 0.5, "share_positive": 0.5},
        {"n": 2, "n_positive": 2, "mean_probability": 1.0, "share_positive": 1.0},
    ]
    assert (found.ece(), found.brier()) == (0, 0.125)
    off = reliability([0, 0, 0, 1], [0.75, 0.75, 0.75, 0.75])
    assert (off.ece(), off.brier()) == (0.5, (3 * 0.75**2 + 0.25**2) / 4)


def test_pooling_is_the_same_as_all_rows_at_once():
    labels, probabilities = weighted(1, n=1000)
    parts = [reliability(labels[i::2], probabilities[i::2]) for i in (0, 1)]
    whole, pooled = reliability(labels, probabilities), parts[0] + parts[1]
    assert pooled.brier() == pytest.approx(whole.brier())
    assert pooled.ece() == pytest.approx(whole.ece())


def test_the_weight_of_positives_is_found_and_taken_off():
    """Eight times the odds are a bias of -ln 8 and a slope of 1."""
    found = calibrate(
        tuple(x[:, None] for x in weighted(2)), tuple(x[:, None] for x in weighted(3)), [""]
    )
    assert found.platt.slope == pytest.approx(1, abs=0.03)
    assert found.platt.bias == pytest.approx(-math.log(8), abs=0.05)
    metrics = found.metrics()
    assert metrics["ece"] > 0.15
    assert metrics["ece_calibrated"] < 0.01
    assert metrics["brier_calibrated"] < metrics["brier"]


def test_the_fit_is_that_of_scikit_learn():
    labels, probabilities = weighted(4, n=5000)
    found = fit_platt(reliability(labels, probabilities))
    peer = LogisticRegression(C=1e9, tol=1e-8).fit(logit(probabilities)[:, None], labels)
    assert found.slope == pytest.approx(float(peer.coef_[0, 0]), rel=0.01)
    assert found.bias == pytest.approx(float(peer.intercept_[0]), rel=0.01)


def test_rows_told_apart_perfectly_still_have_a_fit():
    found = fit_platt(reliability([0] * 20 + [1] * 20, [0.01] * 20 + [0.99] * 20))
    corrected = found([0.01, 0.99])
    assert corrected == pytest.approx([1 / 22, 21 / 22], abs=1e-4)


@pytest.mark.parametrize(
    ("labels", "probabilities"),
    [([0, 0, 0], [0.1, 0.2, 0.3]), ([], []), ([1, 1, 0, 0] * 9, [0.1, 0.2, 0.8, 0.9] * 9)],
    ids=["one class", "nothing", "upside down"],
)
def test_without_a_correction_nothing_is_invented(labels, probabilities):
    table = np.array(labels)[:, None], np.array(probabilities)[:, None]
    found = calibrate(table, table, ["x"])
    assert found.platt is None
    assert math.isnan(found.metrics()["ece_calibrated"])
    assert math.isnan(found.labels[0]["brier_calibrated"])
    assert {row["probabilities"] for row in found.table()} <= {"raw"}


def test_probabilities_of_nought_and_one():
    assert Platt(1.0, 0.0)([0.0, 1.0]) == pytest.approx([0, 1], abs=1e-6)
    assert reliability([0, 1], [-0.0, 1.0]).brier() == 0
    with pytest.raises(ValueError, match="outside 0 to 1"):
        reliability([0, 1], [0.5, 1.5])


def test_tables_of_all_labels_and_of_each_group():
    rng = np.random.default_rng(5)
    labels = (rng.random((500, 3)) < 0.3).astype(np.uint8)
    table = labels, rng.random((500, 3))
    rows = calibrate(table, table, ["TF", "HM", "TF"]).table()
    counts = {}
    for row in rows:
        key = row["group"], row["probabilities"]
        counts[key] = counts.get(key, 0) + row["n"]
    assert {key[0]: n for key, n in counts.items()} == {"all": 1500, "TF": 1000, "HM": 500}
