"""BCa intervals: compared with scipy's, which computes a jackknife, and by their coverage."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import bootstrap, norm

from dna_bigbird.metrics.binary import RankedLabel
from dna_bigbird.metrics.bootstrap import bootstrap_intervals, draw_units, percentile_interval
from dna_bigbird.metrics.regression import regression_scores


def test_a_skewed_mean_has_the_asymmetry_of_scipys_interval():
    values = np.random.default_rng(0).exponential(size=200) ** 2
    mean, draws = values.mean(), draw_units(200, replicates=20_000, seed=1)
    drawn_R = values @ draws.times / 200
    scipys = bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=0)

    def asymmetry(low: float, high: float) -> float:
        return (high - mean) / (mean - low)

    expected = asymmetry(*scipys.confidence_interval)
    assert asymmetry(*bootstrap_intervals(mean, drawn_R, draws)[0]) == pytest.approx(expected, 0.03)
    assert asymmetry(*percentile_interval(drawn_R)) < 0.8 * expected


def test_few_units_widen_the_interval_as_students_t():
    values = np.random.default_rng(0).normal(size=12)
    draws = draw_units(12, replicates=50_000, seed=1)
    low, high = bootstrap_intervals(values.mean(), values @ draws.times / 12, draws)[0]
    reach = 2.201 * values.std(ddof=1) / np.sqrt(12)  # t with 11 degrees of freedom
    assert high - low == pytest.approx(2 * reach, rel=0.05)


def test_undefined_draws_are_left_out_and_a_constant_has_no_width():
    draws = draw_units(30, replicates=100, seed=0)
    drawn_SR = np.stack([np.full(100, 0.7), np.arange(100.0), np.arange(100.0)])
    drawn_SR[1, :40] = drawn_SR[2, :50] = np.nan
    ends = bootstrap_intervals([0.7, 70.0, 70.0], drawn_SR, draws)
    assert ends[0].tolist() == [0.7, 0.7]
    assert 40 <= ends[1, 0] < 70 < ends[1, 1] <= 99
    assert np.isnan(ends[2]).all()
    alone = bootstrap_intervals(70.0, drawn_SR[1], draws)
    assert ends[1] == pytest.approx(alone[0])
    assert np.isnan(bootstrap_intervals(np.nan, drawn_SR[0], draws)).all()


def test_r2_of_a_constant_is_at_the_end_of_its_range_and_inside_its_interval():
    truth = np.random.default_rng(0).normal(size=300)
    draws = draw_units(300, replicates=500, seed=0)
    constant = np.full(300, truth.mean() + 0.01)
    value, drawn_R = (regression_scores(truth, constant, x)["r2"] for x in (None, draws))
    assert (drawn_R <= 0).all()  # no constant is better than the mean of the drawn rows
    low, high = bootstrap_intervals(value, drawn_R, draws)[0]
    assert low <= value <= high


def test_one_unit_or_none_has_no_interval():
    for rows in (0, 1, 300):
        draws = draw_units(rows, replicates=100, seed=0, units=np.zeros(rows))
        assert np.isnan(bootstrap_intervals(0.7, np.full(100, 0.7), draws)).all()


def test_draws_with_more_bias_than_spread_keep_the_width_of_the_interval():
    values = np.random.default_rng(0).normal(size=400)
    draws = draw_units(400, replicates=5000, seed=1)
    mean, error = values.mean(), values.std(ddof=1) / 20
    for bias in (-1.5 * error, 2 * error):
        low, high = bootstrap_intervals(mean, values @ draws.times / 400 + bias, draws)[0]
        assert high - low == pytest.approx(2 * 1.966 * error, rel=0.1)
        assert (low + high) / 2 == pytest.approx(mean - bias, abs=0.2 * error)


def test_the_interval_of_average_precision_covers_it_and_its_quantiles_do_not():
    """Normal scores, those of positives 3 higher, half of 200 rows positive."""

    def above(score: float) -> float:
        return norm.sf(score - 3) / (norm.sf(score - 3) + norm.sf(score))

    expected = quad(lambda score: above(score) * norm.pdf(score - 3), -8, 14)[0]
    rng, draws = np.random.default_rng(0), draw_units(200, replicates=500, seed=0)
    covered = {"bca": 0, "quantiles": 0}
    for _ in range(400):
        labels = rng.random(200) < 0.5
        ranked = RankedLabel(labels, rng.normal(size=200) + 3 * labels)
        value, drawn_R = float(ranked.areas()[1][0]), ranked.areas(draws)[1]
        ends = {
            "bca": bootstrap_intervals(value, drawn_R, draws)[0],
            "quantiles": percentile_interval(drawn_R),
        }
        for name, (low, high) in ends.items():
            covered[name] += low <= expected <= high
    assert 0.93 * 400 <= covered["bca"] <= 0.97 * 400
    assert covered["quantiles"] < 0.91 * 400
