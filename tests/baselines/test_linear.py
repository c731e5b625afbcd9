"""Word-count baselines of classes and targets: their optimum by a formula or a solver of its own."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer import KmerBaseline, fit_linear

PENALTY = 0.1


def features(rows=80, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 3))


def test_targets_are_the_ridge_solution_of_the_normal_equations():
    x = features()
    y = np.stack([x[:, 0] * 3 + 100, x[:, 1] - x[:, 2]], axis=1)
    y += np.random.default_rng(1).normal(size=y.shape)
    centred, scaled = x - x.mean(axis=0), (y - y.mean(axis=0)) / y.std(axis=0)
    weights = np.linalg.solve(
        centred.T @ centred + PENALTY * len(x) * np.eye(3), centred.T @ scaled
    )
    expected = centred @ weights * y.std(axis=0) + y.mean(axis=0)
    model = fit_linear(x, y, PENALTY, "regression")
    assert model.predict(x) == pytest.approx(expected)
    assert model.loss(x, y) == pytest.approx((((expected - y) / y.std(axis=0)) ** 2).mean())


def test_classes_are_the_minimum_of_log_loss_and_squared_weights():
    x = features()
    labels = np.eye(3)[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0)]

    def objective(flat):
        weights, bias = flat[:9].reshape(3, 3), flat[9:]
        loss = -(labels * log_softmax(x @ weights + bias, axis=1)).sum() / len(x)
        return loss + PENALTY / 2 * (weights**2).sum()

    best = minimize(objective, np.zeros(12), options={"gtol": 1e-9}).x
    expected = np.exp(log_softmax(x @ best[:9].reshape(3, 3) + best[9:], axis=1))
    predicted = fit_linear(x, labels, PENALTY, "multi-class").predict(x)
    assert predicted == pytest.approx(expected, abs=1e-4)


def test_a_class_that_was_never_seen_has_no_probability():
    x = features()
    labels = np.eye(3)[(x[:, 0] > 0) * 2]
    predicted = fit_linear(x, labels, PENALTY, "multi-class").predict(x)
    assert (predicted[:, 1] == 0).all()
    assert predicted.sum(axis=1) == pytest.approx(1)
    alone = fit_linear(x, np.eye(3)[np.ones(80, dtype=int)], PENALTY, "multi-class").predict(x)
    assert (alone == [0, 1, 0]).all()


@pytest.mark.parametrize("label_type", ["multi-class", "regression"])
def test_the_penalty_with_the_smallest_validation_loss_is_taken(label_type):
    x, other = features(30, 1), features(500, 2)

    def truth(rows):
        score = rows[:, 0] + np.random.default_rng(0).normal(size=len(rows))
        return np.eye(2)[(score > 0).astype(int)] if label_type == "multi-class" else score[:, None]

    config = KmerConfig().for_set(window_bp=100, bin_bp=0, oriented=True)
    model = KmerBaseline(config, label_type=label_type)
    model.fit(x, truth(x), other, truth(other))
    scaled, validation = ((y - x.mean(axis=0)) / x.std(axis=0) for y in (x, other))
    losses = {
        penalty: fit_linear(scaled, truth(x), penalty, label_type).loss(validation, truth(other))
        for penalty in (10.0, 1.0, 0.1, 0.01)
    }
    assert model.penalty == min(losses, key=losses.get)
    assert model.describe().startswith(("Multinomial", "Ridge"))
