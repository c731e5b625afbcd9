"""Scores of pairs: by a loop over pairs, and over the rows of every bootstrap draw."""

import numpy as np
import pytest

from dna_bigbird.bench.task_scores import PairScores, drawn_means, mean_score
from dna_bigbird.metrics.bootstrap import draw_units


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    real, changed, control = rng.integers(0, 4, (3, 40)).astype(float)  # many ties
    return PairScores(real, changed, control)


def test_without_a_control_the_real_sequence_should_be_higher(pairs):
    values = PairScores(pairs.real, pairs.changed).values()
    won = [
        1 if a > b else 0.5 if a == b else 0 for a, b in zip(pairs.real, pairs.changed, strict=True)
    ]
    assert 0 < won.count(0.5) < 40
    assert values["accuracy"].tolist() == won
    assert values["mean_difference"].tolist() == (pairs.real - pairs.changed).tolist()
    assert set(values) == {"accuracy", "mean_difference"}


def test_with_a_control_the_changed_sequence_should_fall_more(pairs):
    values = pairs.values()
    falls = list(zip(pairs.real - pairs.changed, pairs.real - pairs.control, strict=True))
    assert values["accuracy"].tolist() == [1 if a > b else 0.5 if a == b else 0 for a, b in falls]
    assert values["mean_difference"].tolist() == [a - b for a, b in falls]
    assert values["mean_fall"].tolist() == [a for a, _ in falls]
    assert values["mean_control_fall"].tolist() == [b for _, b in falls]


def test_a_pair_without_a_score_counts_nowhere():
    pairs = PairScores(np.array([1.0, np.nan, 1.0]), np.array([0.0, 0.0, 2.0]))
    draws = draw_units(3, replicates=50, seed=0)
    assert mean_score(pairs.values()["accuracy"], draws).value == 0.5


def test_draws_take_pairs_of_one_name_together(pairs):
    names = [f"s{i // 4}" for i in range(40)]
    draws = draw_units(40, replicates=30, seed=5, units=names)
    values = pairs.values()["accuracy"]
    for r, mean in enumerate(drawn_means(values, draws)):
        drawn = []
        for name, times in zip(sorted(set(names)), draws.times[:, r].tolist(), strict=True):
            drawn += times * [v for v, n in zip(values, names, strict=True) if n == name]
        assert mean == pytest.approx(sum(drawn) / len(drawn))


def test_the_interval_has_about_the_width_of_the_binomial():
    won = (np.random.default_rng(0).random(400) < 0.7).astype(float)
    score = mean_score(won, draw_units(400, replicates=1000, seed=0))
    se = (score.value * (1 - score.value) / 400) ** 0.5
    assert score.high - score.low == pytest.approx(2 * 1.96 * se, rel=0.1)
    assert score.low < score.value < score.high
