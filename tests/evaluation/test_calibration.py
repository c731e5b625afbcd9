"""Reliability by definition; the correction against scikit-learn, and on probabilities whose error is known."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.calibration import _SigmoidCalibration, calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from dna_bigbird.metrics.calibration import (
    FEWEST_FOR_BIAS,
    FEWEST_FOR_SLOPE,
    calibrate,
    fit_lines,
    fit_scaling,
    reliability,
)
from dna_bigbird.models.label_types import BINARY, MULTI_CLASS, MULTI_LABEL
from dna_bigbird.models.scaling import Scaling


def weighted(seed, n=40_000, weight=8.0, mean=-3.0):
    """Probabilities that a perfect model has when positives weigh 8: its odds are 8 times too high."""
    rng = np.random.default_rng(seed)
    true = expit(rng.normal(mean, 1.2, size=n))
    odds = weight * true / (1 - true)
    return (rng.random(n) < true).astype(np.uint8), odds / (1 + odds)


def overconfident(seed, slopes, n=20_000):
    """Labels, logits that are `slopes` times the true ones, and the true probabilities, (n, L)."""
    rng = np.random.default_rng(seed)
    true_NL = expit(rng.normal(-1, 1.5, size=(n, len(slopes))))
    labels_NL = (rng.random(true_NL.shape) < true_NL).astype(np.uint8)
    return labels_NL, expit(logit(true_NL) * slopes + 1), true_NL


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
    assert reliability([0, 1], [-0.0, 1.0]).brier() == 0
    with pytest.raises(ValueError, match="outside 0 to 1"):
        reliability([0, 1], [0.5, 1.5])


def test_pooling_is_the_same_as_all_rows_at_once():
    labels, probabilities = weighted(1, n=1000)
    parts = [reliability(labels[i::2], probabilities[i::2]) for i in (0, 1)]
    whole, pooled = reliability(labels, probabilities), parts[0] + parts[1]
    assert pooled.brier() == pytest.approx(whole.brier())
    assert pooled.ece() == pytest.approx(whole.ece())


def test_the_weight_of_positives_is_found_and_taken_off():
    """Eight times the odds are a bias of -ln 8 and a slope of 1."""
    labels, probabilities = (x[:, None] for x in weighted(2))
    scaling = fit_scaling(labels, probabilities, BINARY)
    assert scaling.slopes == pytest.approx([1], abs=0.03)
    assert scaling.biases == pytest.approx([-math.log(8)], abs=0.05)
    assert scaling.n == len(labels)


def test_the_fit_is_that_of_scikit_learn():
    """Platt's targets and his logistic regression, once with his own code in scikit-learn."""
    labels, probabilities = weighted(4, n=5000)
    found = fit_scaling(labels[:, None], probabilities[:, None], BINARY)
    peer = LogisticRegression(C=1e9, tol=1e-8).fit(logit(probabilities)[:, None], labels)
    assert found.slopes == pytest.approx([float(peer.coef_[0, 0])], rel=0.01)
    assert found.biases == pytest.approx([float(peer.intercept_[0])], rel=0.01)
    sigmoid = _SigmoidCalibration().fit(logit(probabilities), labels)
    assert (found.slopes[0], found.biases[0]) == pytest.approx((-sigmoid.a_, -sigmoid.b_), rel=1e-3)


def test_scores_that_hardly_differ_have_a_fit_too():
    """A model that was barely trained: log odds within a hundredth."""
    rng = np.random.default_rng(9)
    logits = rng.normal(size=300) / 300 - 0.1
    labels = (rng.random(300) < expit(logits * 300 + 29)).astype(np.uint8)
    found = fit_scaling(labels[:, None], expit(logits)[:, None], BINARY)
    sigmoid = _SigmoidCalibration().fit((logits - logits.mean()) * 300, labels)
    assert found.slopes == pytest.approx([-sigmoid.a_ * 300], rel=1e-3)


def test_the_corrected_brier_score_is_that_of_the_true_probabilities():
    """On other rows than the fit's; every label has errors of its own, which one correction cannot mend."""
    slopes = [0.5, 1.0, 4.0]
    scaling = fit_scaling(*overconfident(5, slopes)[:2], MULTI_LABEL)
    labels, given, true = overconfident(6, slopes)
    corrected = scaling.probabilities(given)
    found = calibrate(labels, corrected, ["x"] * 3, scaling).metrics()
    assert found["brier"] == pytest.approx(((true - labels) ** 2).mean(), abs=5e-4)
    assert found["brier_raw"] == pytest.approx(((given - labels) ** 2).mean(), abs=1e-6)
    assert found["brier_raw"] > found["brier"] + 0.02
    assert found["ece"] < 0.01 < found["ece_raw"]
    for label, areas in enumerate(
        zip(*(_aurocs(labels, x) for x in (given, corrected)), strict=True)
    ):
        assert areas[0] == areas[1], label


def _aurocs(labels, scores):
    return [roc_auc_score(labels[:, i], scores[:, i]) for i in range(labels.shape[1])]


def test_labels_with_few_positives_share_slope_and_bias():
    """Of the last label there is nothing to fit, of the one before a bias only."""
    rng = np.random.default_rng(7)
    few = (FEWEST_FOR_SLOPE - 1, FEWEST_FOR_BIAS - 1)
    labels = np.zeros((4000, 4), dtype=np.uint8)
    for column, count in enumerate((1500, 1500, *few)):
        labels[rng.choice(4000, count, replace=False), column] = 1
    logits = rng.normal(labels * 2.0 - 1, 1) * [1, 3, 1, 1]
    found = fit_scaling(labels, expit(logits), MULTI_LABEL)
    pooled = LogisticRegression(C=1e9).fit(logits.T.reshape(-1, 1), labels.T.ravel())
    alone = LogisticRegression(C=1e9).fit(logits[:, [1]], labels[:, 1])
    assert found.slopes[1] == pytest.approx(alone.coef_[0, 0], rel=0.01)
    assert found.slopes[2:] == pytest.approx([pooled.coef_[0, 0]] * 2, rel=0.01)
    assert found.biases[3] == pytest.approx(pooled.intercept_[0], rel=0.01)
    # The maximum of the likelihood over the bias: as many positives are expected as there are.
    corrected = found.probabilities(expit(logits))
    assert corrected[:, 2].sum() == pytest.approx(few[0], abs=1)
    assert abs(corrected[:, 3].sum() - few[1]) > 10


def test_cells_that_were_not_measured_are_left_out():
    labels, given, _ = overconfident(10, [0.5, 4.0], n=2000)
    masked = labels.astype(np.float32)
    masked[:1500, 1] = np.nan
    found = fit_scaling(masked, given, MULTI_LABEL)
    alone = fit_scaling(labels[1500:, [1]], given[1500:, [1]], BINARY)
    assert (found.slopes[1], found.biases[1]) == (alone.slopes[0], alone.biases[0])


def test_the_temperature_has_the_lowest_loss():
    rng = np.random.default_rng(8)
    true = rng.normal(size=(3000, 4)) * 1.5
    classes = (softmax(true, axis=1).cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    labels, given = np.eye(4, dtype=np.uint8)[classes], softmax(true * 2.5, axis=1)
    scaling = fit_scaling(labels, given, MULTI_CLASS)
    peer = minimize_scalar(lambda t: log_loss(classes, softmax(true * 2.5 / t, axis=1)), (1, 3))
    assert scaling.temperature == pytest.approx(peer.x, rel=5e-3)
    assert scaling.temperature == pytest.approx(2.5, rel=0.1)
    corrected = scaling.probabilities(given)
    assert corrected == pytest.approx(
        np.exp(log_softmax(true * 2.5 / scaling.temperature, axis=1)), abs=1e-9
    )
    assert np.array_equal(corrected.argmax(axis=1), given.argmax(axis=1))
    assert calibrate(labels, corrected, ["x"] * 4, scaling).metrics()["brier_raw"] == pytest.approx(
        ((given - labels) ** 2).mean(), abs=1e-6
    )


def test_rows_told_apart_perfectly_still_have_a_fit():
    labels, given = np.array([0] * 20 + [1] * 20), np.array([0.01] * 20 + [0.99] * 20)
    scaling = fit_scaling(labels[:, None], given[:, None], BINARY)
    corrected = scaling.probabilities(np.array([[0.01], [0.99]]))
    assert corrected[:, 0] == pytest.approx([1 / 22, 21 / 22], abs=1e-3)


def test_classes_that_are_all_right_are_not_certain():
    labels = np.eye(3)[[0, 1, 2, 2] * 10]
    scaling = fit_scaling(labels, 0.8 * labels + 0.2 / 3, MULTI_CLASS)
    corrected = scaling.probabilities(0.8 * labels + 0.2 / 3)
    assert corrected[0] == pytest.approx([41 / 43, 1 / 43, 1 / 43], abs=1e-3)


@pytest.mark.parametrize(
    ("labels", "probabilities"),
    [
        ([0] * 60, [0.1, 0.2, 0.3] * 20),
        ([], []),
        ([1] * 19 + [0] * 90, np.linspace(0.9, 0.1, 109)),
        ([1, 1, 0, 0] * 30, [0.1, 0.2, 0.8, 0.9] * 30),
        ([1, 0] * 50, [0.5] * 100),
    ],
    ids=["one class", "nothing", "19 positives", "upside down", "constant"],
)
def test_without_a_correction_nothing_is_invented(labels, probabilities):
    table = np.array(labels)[:, None], np.array(probabilities)[:, None]
    assert fit_scaling(*table, BINARY) is None
    found = calibrate(*table, ["x"])
    assert set(found.metrics()) == set(found.labels[0]) == {"brier", "ece"}
    assert {row["probabilities"] for row in found.table()} <= {"raw"}


def test_ends_and_unknown_probabilities_stay():
    scaling = Scaling([2.0], [1.0])
    found = scaling.probabilities(np.array([[0.0], [1.0], [np.nan]]))
    assert found[:2, 0].tolist() == [0, 1]
    assert np.isnan(found[2, 0])


@pytest.mark.parametrize(
    "values",
    [{}, {"slopes": [1.0]}, {"slopes": [0.0], "biases": [0.0]}, {"temperature": -1.0},
     {"slopes": [1.0], "biases": [0.0], "temperature": 1.0}],
)  # fmt: skip
def test_corrections_that_are_none_or_turn_the_order_are_refused(values):
    with pytest.raises(ValueError, match="slope"):
        Scaling(**values)


def test_tables_of_all_labels_and_of_each_group():
    rng = np.random.default_rng(5)
    labels = (rng.random((500, 3)) < 0.3).astype(np.uint8)
    scaling = Scaling([1.0, 2.0, 0.5], [0.0, 1.0, -1.0])
    rows = calibrate(labels, rng.random((500, 3)), ["TF", "HM", "TF"], scaling).table()
    counts = {}
    for row in rows:
        key = row["group"], row["probabilities"]
        counts[key] = counts.get(key, 0) + row["n"]
    groups = {"all": 1500, "TF": 1000, "HM": 500}
    assert counts == {(name, x): n for name, n in groups.items() for x in ("raw", "calibrated")}


def test_lines_of_targets_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 3))
    truth = np.stack(
        [5 + 0.5 * values[:, 0] + rng.normal(size=60), -values[:, 1], values[:, 0]], axis=1
    )
    values[:, 2] = 7.0  # a constant
    slopes, shifts = fit_lines(truth, values)
    assert (slopes[0], shifts[0]) == pytest.approx(np.polyfit(values[:, 0], truth[:, 0], 1))
    assert (slopes[1:].tolist(), shifts[1:].tolist()) == ([1, 1], [0, 0]), "falling, or a constant"
    few, none = fit_lines(truth[:19], values[:19])
    assert (few.tolist(), none.tolist()) == ([1, 1, 1], [0, 0, 0])
