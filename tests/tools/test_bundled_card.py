"""The card of the bundled model: made from its figures alone, and told which is better."""

import json

import numpy as np
import pytest

from dna_bigbird.bundles.bundled import bundled_model
from tools import bundled, bundled_card, bundled_general


@pytest.fixture
def metrics():
    return json.loads((bundled_model() / "metrics.json").read_text())


def test_card_is_what_its_figures_give(metrics):
    config = json.loads((bundled_model() / "config.json").read_text())
    assert (bundled_model() / "README.md").read_text() == bundled_card.card(config, metrics)


def test_verdicts_follow_the_interval_of_the_difference(metrics):
    ends = ("", "_low", "_high")
    for kind, values in {
        "random_base": (-0.02, -0.03, -0.01),
        "permuted": (0.02, -0.01, 0.05),
        "genomic": (0.1, 0.05, 0.15),
    }.items():
        for end, value in zip(ends, values, strict=True):
            metrics[f"auroc_gain_over_kmer_one_kind{end}_{kind}"] = value
    told = bundled_card.verdicts(metrics)
    assert "k-mer, one part -0.020 [-0.030, -0.010] (**k-mer, one part** is better)" in told[0]
    assert "k-mer, one part +0.020 [-0.010, +0.050] (not clear)" in told[1]
    assert "k-mer, one part +0.100 [+0.050, +0.150] (the model is better)" in told[2]


def test_every_figure_that_differs_is_named(metrics):
    found = json.loads(json.dumps(metrics))
    assert bundled.differences(found, metrics) == []
    found["auroc_genomic"] += 0.001
    assert bundled.differences(found, metrics) == []
    found["baselines"]["kmer_one_kind"]["f1_permuted"] -= 0.01
    found["n"] += 1
    found["new"] = 0.5
    told = " ".join(bundled.differences(found, metrics))
    assert len(bundled.differences(found, metrics)) == 3
    for name in ("f1_permuted: ", "n: ", "new: 0.5 here, None on the card"):
        assert name in told


def test_means_over_folds_have_the_quantiles_of_their_mean_draws():
    rng = np.random.default_rng(0)
    drawn = rng.normal(0.9, 0.02, (5, 1000))
    parts = bundled_card.BACKGROUND_PARTS
    folds = [
        {part: {"n": 20, "": (0.9, mine), "gc": (0.8, mine - 0.1)} for part in parts}
        for mine in drawn
    ]
    metrics, baselines = bundled_general.summary(folds)
    low, high = np.quantile(drawn.mean(axis=0), [0.025, 0.975])
    assert metrics["n_sites"] == 100
    assert (metrics["auroc_low_sites"], metrics["auroc_high_sites"]) == pytest.approx((low, high))
    assert baselines["gc"]["auroc_low_tata"] == pytest.approx(low - 0.1)
    assert metrics["auroc_gain_over_gc_low_tata"] == pytest.approx(0.1)
