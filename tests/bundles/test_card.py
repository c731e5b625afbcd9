"""What the card of a model says, and must not leave out."""

import json
from typing import get_args, get_type_hints

import pytest

from dna_bigbird.bundles.card import GLOBAL_BLOCKS, RANDOM_PLANS, model_card
from dna_bigbird.bundles.save import write_scored_bundle
from dna_bigbird.core.result_folders import RECORD
from dna_bigbird.models.config import EncoderConfig

ENCODER = {
    "num_layers": 2, "num_heads": 2, "hidden_size": 16, "block_size": 8, "num_random": 1,
    "max_tokens": 64, "dropout": 0.1, "vocab_size": 100,
}  # fmt: skip
CONFIG = {
    "task": "promoter",
    "encoder": ENCODER,
    "label_names": ["promoter"],
    "window_bp": 1000,
    "assembly": "GRCh37",
    "semi_synthetic": False,
    "negatives": "random_base",
    "training": {"max_steps": 711, "positive_weight": 1.0},
    "chosen_step": 700,
}


def metrics(model, baseline, key="auroc"):
    return {
        key: model,
        f"{key}_low": model - 0.1,
        f"{key}_high": model + 0.1,
        "n": 40,
        "n_positive": 20,
        "seed": 3,
        "split": "test",
        "baselines": {"kmer": {key: baseline}},
    }


def test_scores_stand_with_count_seed_split_interval_and_baseline():
    card = model_card(CONFIG, metrics(0.8, 0.7))
    assert "split: test; n = 40; n_positive = 20; seed 3" in card
    assert "| auroc | 0.800 (0.700–0.900) | 0.700 |" in card
    assert "model minus kmer: no claim on 40 rows." in card
    assert "negatives: random_base" in card
    assert "step chosen on validation: 700" in card
    assert "Semi-synthetic" not in card


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {},
            "block-sparse attention (blocks of 8 tokens; window of 3 blocks, first and last block "
            "global, 1 random block from the whole sequence) over at most 64 tokens",
        ),
        (
            {"window_blocks": 5, "global_blocks": "first_two", "num_random": 2},
            "; window of 5 blocks, first two blocks global, 2 random blocks from the whole sequence)",
        ),
        (
            {"window_blocks": 1, "global_blocks": "none", "num_random": 0},
            "; window of 1 block, no global block, no random block) over",
        ),
        ({"window_blocks": 0}, "; no window, first and last block global,"),
        (
            {"random_plan": "original", "num_random": 3},
            "3 random blocks as the published code draws them)",
        ),
        (
            {"random_plan": "huggingface", "num_random": 3},
            "3 random blocks as the Hugging Face library draws them in training (in evaluation it "
            "reads the first block instead))",
        ),
        (
            {"random_plan": "original", "num_random": 3, "global_blocks": "first_two"},
            "first two blocks global, 3 random blocks as the published code draws them, those of the "
            "last block from the whole sequence)",
        ),
        (
            {"random_plan": "huggingface", "num_random": 3, "global_blocks": "first_two"},
            "from the whole sequence (in evaluation only the last block has random blocks))",
        ),
        ({"attention": "full"}, "hidden size 16, full attention over at most 64 tokens"),
    ],
    ids=str,
)
@pytest.mark.parametrize("task", ["promoter", "pretraining"])
def test_the_pattern_is_told_as_it_is(change, words, task):
    config = CONFIG | {"task": task, "encoder": ENCODER | change}
    assert words in model_card(config, metrics(0.8, 0.7)).splitlines()[2]


@pytest.mark.parametrize("change", [{}, {"random_plan": "huggingface"}, {"global_blocks": "none"}])
def test_every_setting_of_an_encoder_has_words(change):
    encoder = EncoderConfig(**change)
    card = model_card(CONFIG | {"encoder": encoder}, metrics(0.8, 0.7))
    assert card == model_card(CONFIG | {"encoder": vars(encoder)}, metrics(0.8, 0.7))
    hints = get_type_hints(EncoderConfig)
    assert set(get_args(hints["global_blocks"])) == set(GLOBAL_BLOCKS)
    assert set(get_args(hints["random_plan"])) == set(RANDOM_PLANS)


@pytest.mark.parametrize(
    ("centre_bp", "where"), [(400, "the window and its central 400 bp"), (0, "the window")]
)
def test_word_counts_are_told(centre_bp, where):
    words = {"max_k": 6, "centre_bp": centre_bp, "together": True, "piece_bp": 1}
    card = model_card(CONFIG | {"words": words}, metrics(0.8, 0.7))
    assert f"the counts of all k-mers of 1 to 6 bases in {where} are added." in card
    found = metrics(0.8, 0.7) | {"network": 0.4, "words": 0.9, "positions": 0.2}
    card = model_card(CONFIG | {"words": words | {"positions": 300}}, found)
    assert (
        "and the base at each position and 3-mers in parts of the window are added (network: "
        "weight 0.40; k-mer counts: weight 0.90; positions: weight 0.20)." in card
    )
    alone = model_card(CONFIG | {"words": words}, found | {"network": 0.0})
    assert "**Its network has weight 0: the model is the regression on the counts" in alone
    assert "regression on the counts" not in model_card(CONFIG, metrics(0.8, 0.7))


def test_blocks_and_calibration_are_told():
    found = metrics(0.8, 0.7) | {
        "block_bp": 20_000, "n_blocks": 25, "ece": 0.01, "brier": 0.07, "ece_raw": 0.21, "brier_raw": 0.13,
    }  # fmt: skip
    fitted = {"calibration": {"slopes": [0.9], "biases": [-2.1], "n": 1200}}
    card = model_card(CONFIG | fitted, found)
    assert "95 % bootstrap interval, 25 blocks of 20,000 bp drawn with replacement." in card
    assert "error of the probabilities: 0.010, Brier score 0.070; before the correction" in card
    assert "fitted on 1,200 validation rows) 0.210 and 0.130.\n" in card
    assert "| brier | 0.070 |" in card
    without = model_card(CONFIG, metrics(0.8, 0.7) | {"ece": 0.21, "brier": 0.13})
    assert (
        "error of the probabilities: 0.210, Brier score 0.130; they are not corrected.\n" in without
    )


def test_medians_stand_once_with_their_interval():
    found = {"median_auroc_TF": 0.9, "median_auroc_TF_low": 0.8, "median_auroc_TF_high": 0.95}
    card = model_card(CONFIG | {"task": "chromatin"}, found | {"split": "test"})
    assert "| median_auroc_TF | 0.900 (0.800–0.950) |" in card
    assert "median_auroc_TF_low" not in card


def test_a_baseline_that_wins_is_named():
    card = model_card(CONFIG, metrics(0.7, 0.8) | paired("auroc_gain_over_kmer", -0.1, -0.01))
    assert "-0.055 [-0.100, -0.010]: **the baseline kmer is better**." in card
    assert "is better" not in model_card(CONFIG, metrics(0.7, 0.8)), "without a paired difference"


def paired(key: str, low: float, high: float) -> dict[str, float]:
    return {key: (low + high) / 2, f"{key}_low": low, f"{key}_high": high, "n": 200}


@pytest.mark.parametrize(("high", "is_clear"), [(0.01, False), (-0.01, True)])
def test_an_interval_with_0_in_it_names_no_winner(high, is_clear):
    card = model_card(CONFIG, metrics(0.7, 0.8) | paired("auroc_gain_over_kmer", -0.2, high))
    assert ("is better" in card) == is_clear
    assert (": not clear." in card) != is_clear


def test_the_best_baseline_comes_first_and_few_rows_are_no_claim():
    found = metrics(0.9, 0.8) | paired("auroc_gain_over_kmer", 0.01, 0.2)
    found["baselines"]["gc"] = {"auroc": 0.85}
    lines = [x for x in model_card(CONFIG, found).splitlines() if x.startswith("By auroc")]
    assert ["minus gc" in line for line in lines] == [True, False]
    assert lines[1].endswith(": the model is better.")
    assert "no claim on 40 rows" in model_card(CONFIG, found | {"n": 40})


def test_fewer_bits_are_better():
    config = CONFIG | {"task": "pretraining", "label_names": []}
    key = "bits_per_base_masked"
    for values, ends, told in (
        ((1.8, 1.9), (-0.11, -0.09), "the model is better."),
        ((1.9, 1.8), (0.09, 0.11), "**the baseline token_bigram_masked is better**."),
    ):
        found = metrics(*values, key)
        scores = found["baselines"].pop("kmer") | paired("model_minus_baseline_masked", *ends)
        found["baselines"]["token_bigram_masked"] = scores
        assert told in model_card(config, found)
    assert "weight of positives" not in model_card(config, found)


def test_classes_of_sequence_and_the_verdict_on_what_was_not_read():
    """Ahead on the whole, not clearly where nothing was read: the card says so."""
    key, name = "bits_per_base_masked", "model_minus_baseline_masked"
    values = metrics(1.8, 1.9, key)
    values["by_class"] = {"unseen": {key: 1.9, "n_bp": 6000}, "seen": {key: 1.65, "n_bp": 4000}}
    (baseline,) = values["baselines"].values()
    gain = {name: -0.01, f"{name}_low": -0.03, f"{name}_high": 0.01}
    baseline["by_class"] = {"unseen": {key: 1.91, "n_bp": 6000} | gain}
    card = model_card(CONFIG | {"task": "pretraining", "label_names": []}, values)
    assert "| unseen | 6,000 | 1.900 |" in card
    assert "On the 6,000 hidden bp that lie in no 32-mer of the training text:" in card
    assert "-0.010 [-0.030, +0.010]: not clear" in card
    assert "is better" not in card


@pytest.mark.parametrize("task", ["promoter", "pretraining"])
def test_semi_synthetic_comes_first(task):
    card = model_card(CONFIG | {"semi_synthetic": True, "task": task}, {"seed": 0, "split": "test"})
    assert card.splitlines()[2].startswith("> **Semi-synthetic.**")


def test_a_score_that_is_not_defined_is_a_dash():
    card = model_card(CONFIG, metrics(0.5, None) | {"auroc": None})
    assert "| auroc | – | – |" in card
    assert "is better" not in card


def test_scored_bundle_shares_everything_but_the_scores(bundle_folder, tmp_path):
    output = tmp_path / "final"
    write_scored_bundle(bundle_folder, output, {"n": 7}, "# card\n")
    for name in ("config.json", "model.safetensors", "tokenizer.model"):
        assert (output / name).read_bytes() == (bundle_folder / name).read_bytes()
    assert json.loads((output / "metrics.json").read_text()) == {"n": 7}
    assert (output / "README.md").read_text() == "# card\n"
    assert sorted(p.name for p in output.iterdir()) == [
        RECORD, "README.md", "config.json", "metrics.json", "model.safetensors", "tokenizer.model",
    ]  # fmt: skip
