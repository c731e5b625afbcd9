"""The sentences follow the numbers in every case."""

import pytest

from dna_bigbird.evaluation.rendering import sentence
from dna_bigbird.metrics.names import ngram_title
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics, Score
from dna_bigbird.metrics.verdicts import Verdict, compared, language_verdict, outcome

HIGH, LOW = Score(0.9, 0.88, 0.92), Score(0.7, 0.66, 0.74)
NEAR = Score(0.91, 0.87, 0.93)
UP, DOWN, UNCLEAR = Score(0.2, 0.1, 0.3), Score(-0.2, -0.3, -0.1), Score(0.2, -0.1, 0.5)


def said(model, baseline, gain=NO_SCORE, n=None):
    return sentence("sentences.verdict", Verdict(model, baseline, gain, n=n), "AUROC")


def badge(model, baseline, gain=NO_SCORE):
    return sentence("sentences.badge", Verdict(model, baseline, gain))


def against_chance(score):
    return sentence("sentences.against_chance", score)


def language(metrics):
    return sentence("sentences.language_verdict", language_verdict(ModelMetrics.from_json(metrics)))


def paired(value: float) -> dict[str, float]:
    """Model minus baseline, bits per base."""
    ends = {"": value, "_low": value - 0.005, "_high": value + 0.005}
    return {f"model_minus_baseline_masked{end}": x for end, x in ends.items()}


def scale(*settings):
    return sentence("sentences.scale", *settings)


@pytest.mark.parametrize(
    ("model", "baseline", "gain", "expected"),
    [
        (HIGH, LOW, UP, "The model is better: AUROC 0.900 for the model, 0.700 for the k-mer"),
        (LOW, HIGH, DOWN, "The k-mer baseline is better: AUROC 0.700 for the model, 0.900 for"),
        (HIGH, LOW, UNCLEAR, "Not clear: AUROC 0.900 for the model, 0.700 for the k-mer baseline;"),
        (HIGH, LOW, NO_SCORE, "No claim without an interval of the difference: AUROC 0.900"),
        (Score(None), HIGH, NO_SCORE, "The model's AUROC is not defined"),
        (Score(float("nan")), HIGH, UP, "The model's AUROC is not defined"),
        (HIGH, Score(None), NO_SCORE, "The k-mer baseline has no AUROC here; the model's 0.900"),
    ],
)
def test_verdicts(model, baseline, gain, expected):
    assert said(model, baseline, gain).startswith(expected)


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (UP, "better"),
        (DOWN, "worse"),
        (UNCLEAR, "not_clear"),
        (Score(0.1, 0.0, 0.2), "not_clear"),
        (Score(0.0, 0.0, 0.0), "not_clear"),
        (Score(0.1), "not_defined"),
        (Score(float("nan"), float("nan"), float("nan")), "not_defined"),
    ],
)
def test_the_interval_of_the_difference_alone_decides(difference, expected):
    assert outcome(difference) == outcome(difference, 200) == expected
    assert outcome(difference, 199) == "too_few_rows"
    flipped = {"better": "worse", "worse": "better"}.get(expected, expected)
    assert outcome(difference, higher_is_better=False) == flipped


def test_separate_or_overlapping_intervals_of_the_scores_decide_nothing():
    assert badge(HIGH, LOW) == badge(NEAR, HIGH) == "no claim"
    assert badge(HIGH, LOW, UNCLEAR) == "not clear"
    assert (badge(NEAR, HIGH, UP), badge(NEAR, HIGH, DOWN)) == ("model", "baseline")
    assert said(HIGH, LOW, UP, n=100).startswith("No claim on 100 rows: AUROC 0.900")


def test_the_best_baseline_comes_first_whatever_its_name():
    values = {"kmer": 0.8, "counts": 0.9, "gc": None, "own": 0.85}
    metrics = {
        "auroc": 0.88,
        "n": 300,
        "auroc_gain_over_counts": -0.02,
        "auroc_gain_over_counts_low": -0.04,
        "auroc_gain_over_counts_high": -0.01,
        "baselines": {name: {"auroc": value} for name, value in values.items()},
    }
    found = compared(ModelMetrics.from_json(metrics), "auroc")
    assert [name for name, _ in found] == ["counts", "own", "kmer"]
    assert [x.outcome for _, x in found] == ["worse", "not_defined", "not_defined"]


def test_against_chance():
    assert against_chance(Score(0.6, 0.52, 0.7)) == (
        "The model's 95 % interval is above 0.5, the score of guessing."
    )
    assert "not shown to be better" in against_chance(Score(0.6, 0.49, 0.7))
    assert "worse than guessing" in against_chance(Score(0.4, 0.3, 0.45))
    assert against_chance(Score(0.6)) == ""


def test_language_verdict_keeps_masked_and_causal_apart():
    metrics = {
        "bits_per_base_masked": 1.93,
        "baselines": {
            "token_unigram_masked": {"bits_per_base_masked": 1.95} | paired(-0.02),
            "base_ngram_causal": {"bits_per_base_causal": 1.90, "n_bp": 5},
        },
    }
    text = language(metrics)
    assert text.startswith(
        "The model is better: bits per base 1.930 for the model, 1.950 for the token unigram"
    )
    assert "needs 1.900 bits per base. It reads from left to right only" in text
    assert "not ranked" in text
    assert "no comparison" in language({"bits_per_base_masked": 1.93})
    assert "not defined" in language({})


def test_names_of_baselines():
    assert ngram_title("token_unigram_masked") == "token unigram (masked)"
    assert ngram_title("token_bigram_informed_masked") == "informed token bigram (masked)"
    assert ngram_title("base_ngram_causal") == "base n-gram (causal)"


def test_scale_of_a_run():
    assert scale(2_345_678, 400, 16, 700_000).startswith(
        "Small run: read the scores accordingly. The model has 2.3 million parameters and was "
        "pretrained for 400 steps of 16 sequences on documents that cover 700,000 bp of genome."
    )
    assert scale(110_000_000, 1_000_000, 256, 2_900_000_000).startswith("The model has 110.0")
    assert "that no file records" in scale(None, None, None, None)


def test_two_lost_comparisons_draw_one_conclusion():
    baselines = {
        name: {"bits_per_base_masked": bits} | paired(2.0 - bits)
        for name, bits in {"token_unigram_masked": 1.9, "token_bigram_informed_masked": 1.8}.items()
    }
    text = language({"bits_per_base_masked": 2.0, "baselines": baselines})
    assert text.count("is better: ") == 2
    assert text.count("do not show that the network is worth its cost") == 1
    assert text.index("bigram") < text.index("unigram"), "the best baseline first"


def test_a_language_model_is_judged_on_what_it_has_not_read():
    """Ahead on the whole, behind on the sequence that is in no 32-mer of the training text."""

    def predictor(whole: float, unseen: float, **difference: float) -> dict:
        parts = {"unseen": {"bits_per_base_masked": unseen, "n_bp": 6000} | difference}
        parts["seen"] = {"bits_per_base_masked": 1.2, "n_bp": 4000}
        return {"bits_per_base_masked": whole, "by_class": parts}

    name = "model_minus_baseline_masked"
    difference = {name: 0.05, f"{name}_low": 0.02, f"{name}_high": 0.08}
    baselines = {
        "token_unigram_masked": predictor(1.9, 1.95),
        "token_bigram_informed_masked": predictor(1.6, 1.91),
        "token_mixture_informed_masked": predictor(1.8, 1.8, **difference),
    }
    metrics = predictor(1.5, 1.85) | {"baselines": baselines}
    verdict = language_verdict(ModelMetrics.from_json(metrics))
    assert verdict.unseen_bp == 6000
    best, unigram = verdict.masked
    assert (best.baseline, best.verdict.outcome) == ("token_mixture_informed_masked", "worse")
    assert (unigram.verdict.model.value, unigram.verdict.baseline.value) == (1.85, 1.95)
    assert language(metrics).startswith("On sequence not seen in training (6,000 masked bp): ")
    metrics["by_class"]["unseen"] = {"bits_per_base_masked": None, "n_bp": 0}
    assert language(metrics).startswith("All hidden bases lie in 32-mers of the training text")


def test_a_language_model_is_compared_on_the_same_draws():
    """The intervals overlap and the difference is clear; it decides."""

    def bits(value: float) -> dict:
        return {
            f"bits_per_base_masked{end}": value + x
            for end, x in (("", 0), ("_low", -0.02), ("_high", 0.02))
        }

    difference = {"": -0.019, "_low": -0.026, "_high": -0.012}
    paired = {f"model_minus_baseline_masked{end}": x for end, x in difference.items()}
    metrics = bits(1.635) | {"baselines": {"token_mixture_informed_masked": bits(1.654) | paired}}
    (only,) = language_verdict(ModelMetrics.from_json(metrics)).masked
    assert only.verdict.outcome == "better"
