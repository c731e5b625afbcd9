"""Scores of classes and of GLUE against scikit-learn and scipy, and by hand."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics import multi_class
from dna_bigbird.metrics.seed_means import mean_and_sd, runs_summary
from dna_bigbird.text.tasks.glue import METRICS, glue_scores, glue_statistics


@pytest.mark.parametrize("seed", range(5))
def test_micro_f1_is_that_of_sklearn_and_the_accuracy(seed):
    rng = np.random.default_rng(seed)
    gold = [f"class {i}" for i in rng.integers(0, 7, 90)]
    found = [own if rng.random() < 0.6 else f"class {rng.integers(0, 9)}" for own in gold]
    value = multi_class.micro_f1(multi_class.outcome_counts(gold, found))
    assert value == pytest.approx(sk.f1_score(gold, found, average="micro"))
    assert value == pytest.approx(sk.accuracy_score(gold, found))


@pytest.mark.parametrize("seed", range(5))
def test_scores_of_two_classes_are_those_of_sklearn(seed):
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, 60).astype(float)
    found = np.where(rng.random(60) < 0.7, gold, 1 - gold)
    assert multi_class.f1(gold, found) == pytest.approx(sk.f1_score(gold, found))
    assert multi_class.matthews(gold, found) == pytest.approx(sk.matthews_corrcoef(gold, found))
    assert multi_class.accuracy(gold, found) == pytest.approx(sk.accuracy_score(gold, found))


def test_correlations_by_hand():
    """Ranks 1 2.5 2.5 4 against 1 3 2 4, and scipy on ties."""
    gold, found = np.array([1.0, 2, 2, 9]), np.array([0.0, 5, 4, 6])
    a, b = np.array([1, 2.5, 2.5, 4]) - 2.5, np.array([1, 3, 2, 4]) - 2.5
    by_hand = (a @ b) / np.sqrt((a @ a) * (b @ b))
    assert multi_class.spearman(gold, found) == pytest.approx(by_hand)
    assert multi_class.pearson(gold, found) == pytest.approx(np.corrcoef(gold, found)[0, 1])
    assert np.isnan(multi_class.spearman(gold, np.ones(4)))
    assert np.isnan(multi_class.pearson(np.ones(4), found))
    assert np.isnan(multi_class.spearman(gold[:1], found[:1]))


def test_every_task_has_the_metrics_of_the_paper():
    """Specification §4: Matthews for CoLA, F1 for MRPC, Spearman for STS-B, accuracy otherwise."""
    first = {task: metrics[0].split("_")[0] for task, metrics in METRICS.items()}
    special = {"cola": "matthews", "mrpc": "f1", "stsb": "spearman"}
    others = ("mnli", "qqp", "qnli", "sst2", "rte")
    assert first == {**special, **dict.fromkeys(others, "accuracy")}


def test_the_halves_of_mnli_are_scored_apart():
    parts = ["matched", "mismatched", "matched", "mismatched", "mismatched"]
    statistics = glue_statistics([0, 1, 2, 1, 0], [0, 1, 1, 1, 2], parts)
    assert glue_scores("mnli", statistics) == {
        "accuracy_matched": 0.5,
        "accuracy_mismatched": pytest.approx(2 / 3),
    }
    assert glue_scores("mnli", statistics[:1]) == {"accuracy_matched": 1.0}


def test_scores_of_drawn_examples_are_those_of_the_same_examples():
    """What a bootstrap needs: rows of statistics, in any number and order, give the metric."""
    rng = np.random.default_rng(0)
    gold, found = rng.uniform(0, 5, 30), rng.uniform(0, 5, 30)
    drawn = rng.integers(0, 30, 30)
    scores = glue_scores("stsb", glue_statistics(gold, found, [""] * 30)[drawn])
    assert scores["spearman"] == pytest.approx(stats.spearmanr(gold[drawn], found[drawn])[0])
    assert scores["pearson"] == pytest.approx(stats.pearsonr(gold[drawn], found[drawn])[0])


def write_run(folder, name, seed, score, **other):
    content = {
        "micro_f1": score,
        "micro_f1_low": 0.1,
        "n": 9,
        "training_seed": seed,
        "split": "test",
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content | other))
    return path


def test_runs_are_joined_to_mean_and_sd(tmp_path):
    runs = [write_run(tmp_path, i, i, score) for i, score in enumerate([0.90, 0.94, 0.95])]
    # mean 0.93, squares of the differences 9, 1, 4 times 1e-4: the root of 14e-4 / 2
    summary = runs_summary(runs)
    assert summary == {
        "micro_f1": 0.93, "micro_f1_sd": 0.026458, "runs": 3, "n": 9, "split": "test"
    }  # fmt: skip
    assert mean_and_sd([1, 3]) == (2, round(2**0.5, 6))


def test_runs_that_do_not_belong_together_are_refused(tmp_path):
    one, same = write_run(tmp_path, "a", 0, 0.9), write_run(tmp_path, "b", 0, 0.8)
    with pytest.raises(InputError, match="training seeds of the runs are 0, 0; expected another"):
        runs_summary([one, same])
    with pytest.raises(InputError, match=r"c\.json: 'n' is not that of .*a\.json"):
        runs_summary([one, write_run(tmp_path, "c", 1, 0.9, n=8)])
    with pytest.raises(InputError, match="needs two or more"):
        runs_summary([one])
