"""Settings that are chosen for a labelled set, and those that a user gives."""

import dataclasses

import pytest

from dna_bigbird.models.config import HeadConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.label_config import (
    BINS,
    GENERAL,
    SEQUENCES,
    LabelHeadConfig,
    LabelTrainConfig,
    recipe_for,
)


@pytest.mark.parametrize("rows", [1, 100, 13_172, 40_000, 2_600_000])
@pytest.mark.parametrize("batch_size", [8, 32])
def test_steps_follow_from_the_rows(rows, batch_size):
    chosen = LabelTrainConfig(batch_size=batch_size).for_rows(rows)
    quarter_pass = min(max(rows / 4 / batch_size, 120), 20_000)
    assert quarter_pass - 1 <= chosen.max_steps <= quarter_pass + 4
    assert chosen.max_steps == 4 * chosen.validate_every
    assert chosen.warmup_steps == chosen.max_steps // 10
    assert (chosen.learning_rate, chosen.head_learning_rate) == (3e-4, 1e-2)
    assert chosen.start_at_base_rates


@pytest.mark.parametrize(
    ("rows", "steps"), [(10, 200), (12_800, 200), (25_600, 400), (10**8, 20_000)]
)
def test_whole_windows_on_single_bases_have_a_recipe_of_their_own(rows, steps):
    chosen = LabelTrainConfig().for_rows(rows, SEQUENCES)
    assert (chosen.max_steps, chosen.validate_every, chosen.warmup_steps) == (
        steps, steps // 8, steps // 10,
    )  # fmt: skip
    assert (chosen.optimizer, chosen.muon_learning_rate, chosen.learning_rate) == (
        "muon", 0.005, 0.002,
    )  # fmt: skip
    assert (chosen.batch_size, chosen.weight_decay, chosen.gradient_clip) == (64, 0.1, 1.0)
    given = LabelTrainConfig(optimizer="adamw", batch_size=16).for_rows(12_800, SEQUENCES)
    assert (given.optimizer, given.batch_size, given.max_steps) == ("adamw", 16, 800)


def test_the_recipe_follows_from_tokens_and_bins():
    assert recipe_for(bin_bp=0, bp_per_token=0.998) is SEQUENCES
    assert recipe_for(bin_bp=0, bp_per_token=0.998, trains_layers=False) is GENERAL
    assert recipe_for(bin_bp=200, bp_per_token=0.998) is BINS
    assert recipe_for(bin_bp=200, bp_per_token=4.5) is GENERAL
    chosen = LabelTrainConfig().for_rows(13_172, BINS)
    assert (chosen.max_steps, chosen.start_at_probe, chosen.learning_rate) == (60, True, 1e-4)
    assert not LabelTrainConfig(start_at_probe=False).for_rows(13_172, BINS).start_at_probe


def test_with_a_given_rate_the_recipe_decides_nothing_but_the_steps():
    settings = {"learning_rate": 0.001, "max_steps": 300}
    for recipe in (GENERAL, SEQUENCES, BINS):
        assert LabelTrainConfig(**settings).for_rows(13_172, recipe) == TrainConfig(**settings)


def test_given_values_stay():
    given = LabelTrainConfig(
        max_steps=80, warmup_steps=3, head_learning_rate=0.0, start_at_base_rates=False
    )
    chosen = given.for_rows(5000)
    assert (chosen.max_steps, chosen.warmup_steps, chosen.validate_every) == (80, 3, 20)
    assert (chosen.head_learning_rate, chosen.start_at_base_rates) == (0.0, False)


def test_a_given_rate_leaves_the_plain_defaults():
    plain = TrainConfig(max_steps=300, learning_rate=0.001, precision="32-true")
    settings = {"max_steps": 300, "learning_rate": 0.001, "precision": "32-true"}
    assert LabelTrainConfig(**settings).for_rows(13_172) == plain


def test_nothing_is_chosen_where_all_is_given():
    plain = dataclasses.asdict(TrainConfig(max_steps=300, validate_every=60, warmup_steps=9))
    given = LabelTrainConfig(**plain)
    assert not given.has_gaps
    assert dataclasses.asdict(given.for_rows(7)) == plain


def test_a_given_interval_divides_the_chosen_steps():
    chosen = LabelTrainConfig(validate_every=90).for_rows(13_172)
    assert chosen.max_steps % 90 == 0
    assert 0 <= chosen.max_steps - 120 < 90


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_steps": 10, "validate_every": 4}, "not a multiple"),
        ({"max_steps": 10, "warmup_steps": 10}, "not below --max_steps"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"max_steps": 0}, "expected at least 1"),
    ],
)
def test_contradictions_are_refused_before_the_set_is_read(settings, message):
    with pytest.raises(ValueError, match=message):
        LabelTrainConfig(**settings)


def test_a_contradiction_with_a_chosen_value():
    with pytest.raises(ValueError, match="--warmup_steps 5000 is not below"):
        LabelTrainConfig(warmup_steps=5000).for_rows(100)


def test_the_head_reads_the_middle_of_a_set_of_bins():
    head = LabelHeadConfig(dropout=0.2)
    assert head.for_set(bin_bp=200, bp_per_token=5.0) == HeadConfig("centre", "tanh", 120, 0.2)
    assert head.for_set(bin_bp=0, bp_per_token=5.0, window_bp=300).pooling == "mean"
    aligned = head.for_set(bin_bp=0, bp_per_token=300 / 302, window_bp=300)
    assert aligned == HeadConfig("parts", dropout=0.2, parts=60)
    bins = head.for_set(bin_bp=200, bp_per_token=0.998, window_bp=1000)
    assert (bins.pooling, bins.parts) == ("parts", 5)
    given = LabelHeadConfig(pooling="mean")
    assert given.for_set(bin_bp=0, bp_per_token=1.0, window_bp=300).pooling == "mean"
    attention = LabelHeadConfig(pooling="attention")
    chosen = attention.for_set(bin_bp=200, bp_per_token=5.0, window_bp=8000)
    assert (chosen.centre_tokens, chosen.reach_tokens) == (120, 800)
    cls = LabelHeadConfig(pooling="cls").for_set(bin_bp=200, bp_per_token=5.0)
    assert cls.pooling == "cls"
    with pytest.raises(ValueError, match="pooling"):
        LabelHeadConfig(pooling="max")
