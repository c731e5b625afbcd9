"""Scores of tracks: scipy on the measured bins, and a loop over drawn windows."""

import numpy as np
import pytest
from scipy import stats

from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.regression import track_scores


@pytest.fixture
def values():
    """40 windows of 6 bins, of large values with small differences; a window is not measured, one is constant."""
    rng = np.random.default_rng(0)
    truth = 1e4 + rng.gamma(1, 2, (40, 6)).round(1)
    predicted = 0.3 * truth + rng.normal(size=truth.shape)
    truth[3], truth[5, 2:], truth[7] = np.nan, np.nan, 1e4
    return truth, predicted


def by_loop(truth, predicted, rows):
    """The scores of some windows, which may occur several times, but spearman."""
    truth, predicted = truth[rows], predicted[rows]
    known = ~np.isnan(truth)
    a, b = truth[known], predicted[known]
    profiles, totals = [], []
    for x, y, k in zip(truth, predicted, known, strict=True):
        if k.any():
            totals.append((x[k].mean(), y[k].mean()))
        if len(np.unique(x[k])) > 1:
            profiles.append(stats.pearsonr(x[k], y[k])[0])
    return {
        "pearson": stats.pearsonr(a, b)[0],
        "profile_pearson": np.mean(profiles),
        "total_pearson": stats.pearsonr(*np.transpose(totals))[0],
        "r2": 1 - ((a - b) ** 2).mean() / a.var(),
        "rmse": np.sqrt(((a - b) ** 2).mean()),
    }


def test_scores_are_those_of_scipy_also_under_draws_of_blocks(values):
    truth, predicted = values
    blocks = np.arange(40) // 4
    draws = draw_units(40, replicates=20, seed=1, units=blocks)
    scores = track_scores(truth, predicted, draws)
    whole = by_loop(truth, predicted, np.arange(40))
    known = ~np.isnan(truth)
    whole["spearman"] = stats.spearmanr(truth[known], predicted[known])[0]
    assert {name: point for name, (point, _) in scores.items()} == pytest.approx(whole, rel=1e-6)
    for draw in range(20):
        times = draws.times[:, draw][blocks]
        drawn = by_loop(truth, predicted, np.repeat(np.arange(40), times))
        mine = {name: scores[name][1][draw] for name in drawn}
        assert mine == pytest.approx(drawn, rel=1e-6)


def test_a_constant_has_no_correlation_and_no_profile(values):
    truth, _ = values
    scores = track_scores(truth, np.full(truth.shape, 0.1), draw_units(40, replicates=5, seed=0))
    assert np.isnan(scores["pearson"][0])
    assert np.isnan(scores["total_pearson"][0])
    assert scores["profile_pearson"][0] == 0
