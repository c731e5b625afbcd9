"""What `evaluate` prints."""

from pathlib import Path

import pytest

from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.evaluation.evaluate import evaluation_summary

SCORES = {"macro_auroc": 0.7, "macro_auroc_low": 0.65, "macro_auroc_high": 0.75, "n": 2255}


def summary(gain, **more):
    low, high = gain
    values = SCORES | {
        "auroc_gain_over_kmer": (low + high) / 2,
        "auroc_gain_over_kmer_low": low,
        "auroc_gain_over_kmer_high": high,
        "baselines": {"kmer": {**SCORES, "macro_auroc": 0.72}},
        **more,
    }
    labels = [("CTCF", {"model": 0.61, "kmer": float("nan")})]
    return evaluation_summary(Path("scored"), Metrics.from_json(values), labels)


def test_all_on_one_screen():
    counts = {"n_test_windows_read_in_pretraining": 0, "n_test_windows_read_in_fine_tuning": 1047}
    assert summary((-0.06, -0.01), **counts).splitlines() == [
        "scored: macro AUROC on 2,255 test windows, 95 % interval in brackets",
        "  model  0.700 [0.650, 0.750]",
        "  kmer   0.720 [0.650, 0.750]",
        "  model minus kmer: -0.035 [-0.060, -0.010]: kmer is better",
        "  CTCF: model 0.610, kmer not defined",
        "  test windows that share bases with what the encoder read before: 0 in pretraining, "
        "1,047 in an earlier fine-tuning",
    ]


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        ((0.01, 0.04), "the model is better"),
        ((-0.04, 0.01), "not clear"),
        ((0.0, 0.0), "not clear"),
    ],
)
def test_the_difference_in_words(gain, words):
    assert summary(gain).splitlines()[3].endswith(f": {words}")


def test_few_rows_are_no_claim():
    assert summary((0.01, 0.04), n=199).splitlines()[3].endswith(": no claim on 199 rows")
    assert summary((0.01, 0.04), n=200).splitlines()[3].endswith(": the model is better")


def test_the_last_line_is_about_the_best_of_several_baselines():
    baselines = {
        name: {**SCORES, "macro_auroc": value}
        for name, value in (("kmer", 0.6), ("positional", 0.8), ("gc", 0.7))
    }
    gain = {"": -0.1, "_low": -0.15, "_high": -0.05}
    more = {f"auroc_gain_over_positional{end}": value for end, value in gain.items()}
    last = summary((0.05, 0.15), baselines=baselines, **more).splitlines()[-1]
    assert last == "  against positional, the best baseline: positional is better"
    for changed, n in (({"auroc_gain_over_positional_high": 0.05}, 300), ({}, 199)):
        last = summary((0.05, 0.15), baselines=baselines, **more | changed, n=n).splitlines()[-1]
        assert last.startswith("  against positional, the best baseline: positional scores higher")


def test_an_unknown_encoder():
    assert summary((0, 1)).endswith("that the encoder read before: unknown")
