"""Scores of benchmark tasks against scikit-learn and SciPy, of the rows as they are and of drawn rows."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from dna_bigbird.bench.task_scores import over_seeds, seed_difference, seed_score, task_scores
from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.seed_means import SeedScores
from dna_bigbird.metrics.task_results import Score

ROWS, DRAWS = 90, 6


def by_class(truth, scores):
    """Scores of classes, of the areas those of every class against the others."""
    called = scores.argmax(axis=1)
    is_class = np.eye(scores.shape[1])[truth]
    expected = {
        "accuracy": sk.accuracy_score(truth, called),
        "mcc": sk.matthews_corrcoef(truth, called),
        "macro_f1": sk.f1_score(truth, called, average="macro"),
        "macro_auroc": sk.roc_auc_score(is_class, scores, average="macro"),
        "macro_auprc": sk.average_precision_score(is_class, scores, average="macro"),
    }
    if scores.shape[1] == 2:
        expected["f1"] = sk.f1_score(truth, called)
        expected["auroc"] = sk.roc_auc_score(truth, scores[:, 1])
        expected["auprc"] = sk.average_precision_score(truth, scores[:, 1])
    return expected


def of_one_label(labels, scores):
    truth, called = labels[:, 0], scores[:, 0] >= 0.5
    return {
        "auroc": sk.roc_auc_score(truth, scores[:, 0]),
        "auprc": sk.average_precision_score(truth, scores[:, 0]),
        "f1": sk.f1_score(truth, called),
        "mcc": sk.matthews_corrcoef(truth, called),
        "accuracy": sk.accuracy_score(truth, called),
    }


def of_labels(labels, scores):
    return {
        "macro_auroc": sk.roc_auc_score(labels, scores, average="macro"),
        "macro_auprc": sk.average_precision_score(labels, scores, average="macro"),
    }


def of_targets(truth, values):
    columns = [
        {
            "pearson": stats.pearsonr(x, y)[0],
            "spearman": stats.spearmanr(x, y)[0],
            "r2": sk.r2_score(x, y),
            "rmse": sk.root_mean_squared_error(x, y),
        }
        for x, y in zip(truth.T, values.T, strict=True)
    ]
    return {name: np.mean([column[name] for column in columns]) for name in columns[0]}


def tied(values):
    """Values in steps of a tenth, so that many are equal and some are exactly one half."""
    return np.round(values, 1)


def example(label_type, width, seed):
    """Return labels and scores with ties, (ROWS, width) each, and the oracle."""
    rng = np.random.default_rng(seed)
    if label_type == "multi-class":
        truth = rng.integers(width, size=ROWS)
        scores = tied(rng.random((ROWS, width)) + 0.3 * np.eye(width)[truth])
        labels = np.eye(width, dtype=np.uint8)[truth]
        return labels, scores, lambda y, s: by_class(y.argmax(axis=1), s)
    if label_type == "regression":
        truth = tied(rng.normal(size=(ROWS, width)))
        return truth, tied(truth + rng.normal(size=truth.shape)), of_targets
    labels = (rng.random((ROWS, width)) < 0.4).astype(np.uint8)
    scores = tied(np.clip(0.6 * rng.random((ROWS, width)) + 0.4 * labels, 0, 1))
    return labels, scores, of_one_label if width == 1 else of_labels


CASES = [
    ("multi-class", 2), ("multi-class", 4), ("binary", 1), ("multi-label", 3),
    ("regression", 1), ("regression", 2),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("label_type", "width"), CASES)
def test_scores_are_those_of_other_libraries(label_type, width, seed):
    labels, scores, oracle = example(label_type, width, seed)
    assert len(np.unique(scores[:, 0])) < 0.6 * ROWS
    draws = draw_units(ROWS, replicates=2, seed=0)
    points = {
        name: point for name, (point, _) in task_scores(label_type, labels, scores, draws).items()
    }
    assert points == pytest.approx(oracle(labels, scores), abs=1e-12)


@pytest.mark.parametrize(("label_type", "width"), CASES)
def test_the_scores_of_a_draw_are_those_of_the_drawn_rows(label_type, width):
    """Three rows belong together; drawn twice, each counts twice."""
    labels, scores, oracle = example(label_type, width, seed=7)
    draws = draw_units(ROWS, replicates=DRAWS, seed=3, units=np.arange(ROWS) // 3)
    estimates = task_scores(label_type, labels, scores, draws)
    for number in range(DRAWS):
        rows = np.repeat(np.arange(ROWS), draws.times[draws.units, number])
        drawn = {name: values[number] for name, (_, values) in estimates.items()}
        assert drawn == pytest.approx(oracle(labels[rows], scores[rows]), abs=1e-12)


def test_an_absent_class_has_no_area():
    """Of two classes no area is defined; of three the mean is over the two that occur."""
    draws = draw_units(4, replicates=3, seed=0)
    two = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]])
    absent = task_scores("multi-class", np.tile([1, 0], (4, 1)), two, draws)
    scores = over_seeds([absent], draws)
    assert absent["accuracy"][0] == 0.75
    for name in ("auroc", "auprc", "macro_auroc", "macro_auprc", "mcc", "f1"):
        assert seed_score(scores, name).value is None, name
    three = np.c_[two, np.zeros(4)]
    labels = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]])
    value = task_scores("multi-class", labels, three, draws)["macro_auroc"][0]
    expected = [sk.roc_auc_score(labels[:, i], three[:, i]) for i in (0, 1)]
    assert value == pytest.approx(np.mean(expected))


def test_a_draw_without_a_class_has_no_area_and_no_part_in_the_interval():
    """One positive of four rows: draws without it are left out."""
    labels, scores = np.array([[1], [0], [0], [0]]), np.array([[0.6], [0.7], [0.2], [0.1]])
    draws = draw_units(4, replicates=40, seed=0)
    estimates = task_scores("binary", labels, scores, draws)
    is_absent = draws.times[0] == 0
    assert 0 < is_absent.sum() < 40
    assert np.isnan(estimates["auroc"][1]).tolist() == is_absent.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = seed_score(over_seeds([estimates], draws), "auroc")
    assert score.value == pytest.approx(2 / 3, abs=1e-6)
    assert score.low < score.value < score.high <= 1


def test_the_mean_over_seeds_by_hand():
    """Three seeds and five draws; the parts of the variance after Welch and Satterthwaite."""
    values, drawn, units = [0.60, 0.70, 0.65], np.array([0.61, 0.66, 0.69, 0.63, 0.7]), 10
    scores = SeedScores({"accuracy": values}, {"accuracy": drawn}, units)
    rows, seeds = np.var(drawn, ddof=1), np.var(values, ddof=1) / 3
    freedom = (rows + seeds) ** 2 / (rows**2 / 9 + seeds**2 / 2)
    half = stats.t.ppf(0.975, freedom) * (rows + seeds) ** 0.5
    score = seed_score(scores, "accuracy")
    assert (score.value, score.by_seed) == (0.65, (0.6, 0.7, 0.65))
    assert (score.low, score.high) == pytest.approx((0.65 - half, 0.65 + half), abs=1e-6)
    assert score.sd == pytest.approx(0.05)


def test_a_difference_by_hand():
    """Paired by draw, not by seed; one training has no scatter over seeds."""
    first = SeedScores({"mcc": [0.5, 0.7]}, {"mcc": np.array([0.55, 0.62, 0.64])}, 20)
    second = SeedScores({"mcc": [0.4]}, {"mcc": np.array([0.35, 0.44, 0.41])}, 20)
    rows, seeds = np.var([0.20, 0.18, 0.23], ddof=1), 0.02 / 2
    freedom = (rows + seeds) ** 2 / (rows**2 / 19 + seeds**2 / 1)
    half = stats.t.ppf(0.975, freedom) * (rows + seeds) ** 0.5
    score = seed_difference(first, second, "mcc")
    assert (score.value, score.low, score.high) == pytest.approx(
        (0.2, 0.2 - half, 0.2 + half), abs=1e-6
    )
    assert (score.sd, score.by_seed) == (None, ())


@pytest.mark.parametrize(("name", "is_cut"), [("accuracy", True), ("rmse", False)])
def test_an_interval_ends_at_the_best_value(name, is_cut):
    scores = SeedScores({name: [0.98]}, {name: np.array([0.9, 1.0, 0.99, 0.95])}, 4)
    high = seed_score(scores, name).high
    assert (high == 1) == is_cut
    assert is_cut or high > 1.1


def test_what_is_not_defined_is_none():
    scores = SeedScores({"auroc": [float("nan")]}, {"auroc": np.full(3, np.nan)}, 3)
    assert seed_score(scores, "auroc") == Score(None, None, None, None, (None,))
    assert seed_difference(scores, scores, "auroc") == Score(None, None, None)


@pytest.mark.parametrize(("name", "least"), [("accuracy", 0.0), ("mcc", -1.0), ("r2", None)])
def test_a_low_end_is_not_below_the_smallest_score(name, least):
    drawn = {name: np.array([0.1, 0.2, 0.3])}
    low = seed_score(SeedScores({name: [0.0, 0.9]}, drawn, 3), name).low
    unbounded = SeedScores({name: [0.0, 0.9]}, drawn, 3).mean(name).ends[0]
    assert unbounded < -1
    assert low == (pytest.approx(unbounded) if least is None else least)
