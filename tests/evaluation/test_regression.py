"""Scores of predicted numbers against SciPy and scikit-learn, also for drawn rows with ties."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.regression import mean_ranks, regression_scores
from dna_bigbird.metrics.sources import score_targets, trivial_scores


def example(rows=50, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 2, size=rows).round(1)  # rounded, so that some are equal
    return truth, (0.5 * truth + rng.normal(size=rows)).round(1)


def expected(truth, predicted):
    return {
        "pearson": stats.pearsonr(truth, predicted).statistic,
        "spearman": stats.spearmanr(truth, predicted).statistic,
        "r2": sk.r2_score(truth, predicted),
        "rmse": sk.root_mean_squared_error(truth, predicted),
    }


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scipy_and_scikit_learn(seed):
    truth, predicted = example(seed=seed)
    ours = regression_scores(truth, predicted)
    for name, value in expected(truth, predicted).items():
        assert ours[name] == pytest.approx([value]), name


def test_scores_of_drawn_rows_are_those_of_the_repeated_rows():
    truth, predicted = example()
    draws = draw_units(50, replicates=7, seed=1, units=np.arange(50) // 2)
    ours = regression_scores(truth, predicted, draws)
    for r in range(7):
        rows = np.repeat(np.arange(50), draws.times[draws.units, r])
        for name, value in expected(truth[rows], predicted[rows]).items():
            assert ours[name][r] == pytest.approx(value), name


def test_ranks_of_repeated_values_are_those_of_scipy():
    values, times = np.array([2.0, 1.0, 2.0, 9.0]), np.array([[2.0], [1.0], [3.0], [0.0]])
    rows = np.repeat(np.arange(4), times[:, 0].astype(int))
    assert mean_ranks(values, times)[rows, 0] == pytest.approx(stats.rankdata(values[rows]))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6 / 3])
def test_a_constant_prediction_has_no_correlation(constant):
    truth, _ = example()
    ours = regression_scores(truth, np.full(50, constant), draw_units(50, replicates=5, seed=0))
    assert np.isnan(ours["pearson"]).all()
    assert np.isnan(ours["spearman"]).all()
    assert (ours["r2"] <= 0).all()


def test_the_mean_of_the_training_rows_has_the_error_of_their_mean():
    truth, _ = example()
    values = trivial_scores(np.array([[1.0], [3.0]]), len(truth))
    draws = draw_units(50, replicates=20, seed=0)
    source = score_targets(truth[:, None], values, draws)
    assert source.metrics["rmse"] == pytest.approx(np.sqrt(((truth - 2) ** 2).mean()))
    assert np.isnan(source.metrics["pearson"])


def test_several_targets_are_averaged_and_kept_apart():
    truth, predicted = (np.stack([x, x[::-1] ** 2], axis=1) for x in example())
    source = score_targets(truth, predicted, draw_units(50, replicates=20, seed=0))
    each = [expected(truth[:, i], predicted[:, i]) for i in range(2)]
    for name in ("pearson", "spearman", "r2", "rmse"):
        assert source.metrics[name] == pytest.approx(np.mean([x[name] for x in each]))
        assert [x[name][0] for x in source.targets] == pytest.approx([x[name] for x in each])
