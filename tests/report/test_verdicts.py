"""The sentences follow the numbers in every case."""

import pytest

from dna_bigbird.evaluation.rendering import sentence
from dna_bigbird.metrics.names import ngram_title
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics, Score, Verdict, language_verdict

HIGH, LOW = Score(0.9, 0.88, 0.92), Score(0.7, 0.66, 0.74)
NEAR = Score(0.91, 0.87, 0.93)


def said(model, baseline, gain=NO_SCORE):
    return sentence("sentences.verdict", Verdict(model, baseline, gain), "AUROC")


def badge(model, baseline, gain=NO_SCORE):
    return sentence("sentences.badge", Verdict(model, baseline, gain))


def against_chance(score):
    return sentence("sentences.against_chance", score)


def language(metrics):
    return sentence("sentences.language_verdict", language_verdict(ModelMetrics.from_json(metrics)))


def winner(model, baseline):
    return Verdict(model, baseline, higher_is_better=False).winner


def scale(*settings):
    return sentence("sentences.scale", *settings)


@pytest.mark.parametrize(
    ("model", "baseline", "expected"),
    [
        (HIGH, LOW, "The model wins: AUROC 0.900 against 0.700 for the k-mer baseline; the 95 %"),
        (
            LOW,
            HIGH,
            "The baseline wins: AUROC 0.900 for the k-mer baseline against 0.700 for the model",
        ),
        (NEAR, HIGH, "The model is ahead: AUROC 0.910 against 0.900"),
        (HIGH, NEAR, "The baseline is ahead: AUROC 0.910 for the k-mer baseline"),
        (HIGH, Score(0.90004), "Model and baseline are equal: AUROC 0.900 against 0.900"),
        (
            Score(0.9),
            Score(0.8),
            "The model wins: AUROC 0.900 against 0.800 for the k-mer baseline.",
        ),
        (Score(None), HIGH, "The model's AUROC is not defined"),
        (Score(float("nan")), HIGH, "The model's AUROC is not defined"),
        (HIGH, Score(None), "The k-mer baseline has no AUROC here; the model's 0.900 has nothing"),
    ],
)
def test_verdicts(model, baseline, expected):
    assert said(model, baseline).startswith(expected)


def test_overlapping_intervals_are_never_called_clear():
    text = said(NEAR, HIGH)
    assert "intervals overlap" in text
    assert "wins" not in text
    assert badge(NEAR, HIGH) == "model ahead, not clearly"
    assert badge(HIGH, NEAR) == "baseline ahead, not clearly"


def test_lower_can_be_better():
    assert winner(Score(1.9), Score(1.95)) == "model"
    assert winner(Score(1.9), Score(1.85)) == "baseline"
    assert winner(Score(1.9), Score(1.9001)) == "tie"


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
            "token_unigram_masked": {"bits_per_base_masked": 1.95},
            "base_ngram_causal": {"bits_per_base_causal": 1.90, "n_bp": 5},
        },
    }
    text = language(metrics)
    assert text.startswith(
        "The model wins: bits per base 1.930 against 1.950 for the token unigram"
    )
    assert "needs 1.900 bits per base, fewer than the model's 1.930" in text
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


def test_the_interval_of_the_difference_decides_where_there_is_one():
    clear, unclear = Score(0.01, 0.002, 0.02), Score(0.01, -0.01, 0.03)
    text = said(NEAR, HIGH, clear)
    assert text.startswith(
        "The model wins: AUROC 0.910 against 0.900 for the k-mer baseline; the 95 %"
    )
    assert "[+0.002, +0.020] excludes 0" in text
    text = said(HIGH, LOW, unclear)
    assert text.startswith("The model is ahead")
    assert "[-0.010, +0.030] includes 0" in text
    assert badge(HIGH, LOW, unclear) == "model ahead, not clearly"
    assert badge(NEAR, HIGH, clear) == "model wins"


def test_two_lost_comparisons_draw_one_conclusion():
    baselines = {"token_unigram_masked": 1.9, "token_bigram_informed_masked": 1.8}
    text = language({"bits_per_base_masked": 2.0, "baselines": baselines})
    assert text.count("The baseline wins: ") == 2
    assert text.count("do not show that the network is worth its cost") == 1


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
    (compared,) = language_verdict(ModelMetrics.from_json(metrics)).masked
    assert compared.verdict.is_clear
    assert compared.verdict.winner == "model"
