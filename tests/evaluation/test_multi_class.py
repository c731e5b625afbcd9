"""Scores of classes against scikit-learn, also for drawn rows."""

import numpy as np
import pytest
from sklearn import metrics as sk

from dna_bigbird.metrics.bootstrap import bootstrap_intervals, draw_units
from dna_bigbird.metrics.multi_class import confusion_tables, table_scores
from dna_bigbird.metrics.sources import score_classes


def example(rows=60, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=rows)
    scores = rng.dirichlet(np.ones(classes), size=rows) + 0.3 * np.eye(classes)[truth]
    return truth, np.eye(classes, dtype=np.uint8)[truth], scores / scores.sum(axis=1)[:, None]


def expected(truth, called):
    return {
        "accuracy": sk.accuracy_score(truth, called),
        "mcc": sk.matthews_corrcoef(truth, called),
        "macro_f1": sk.f1_score(truth, called, average="macro"),
    }


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_scikit_learn(seed):
    truth, labels, scores = example(seed=seed)
    ours = table_scores(confusion_tables(labels, scores))
    for name, value in expected(truth, scores.argmax(axis=1)).items():
        assert ours[name] == pytest.approx([value])


def test_scores_of_drawn_rows_are_those_of_the_repeated_rows():
    truth, labels, scores = example()
    draws = draw_units(60, replicates=7, seed=3, units=np.arange(60) // 3)
    ours = table_scores(confusion_tables(labels, scores, draws))
    for r in range(7):
        rows = np.repeat(np.arange(60), draws.times[draws.units, r])
        for name, value in expected(truth[rows], scores.argmax(axis=1)[rows]).items():
            assert ours[name][r] == pytest.approx(value), name


def test_one_predicted_class_has_no_correlation_and_one_true_class_none_defined():
    two = np.array([[[3.0, 0.0], [2.0, 0.0]], [[3.0, 2.0], [0.0, 0.0]]])
    assert table_scores(two)["mcc"] == pytest.approx([0.0, np.nan], nan_ok=True)


def test_a_source_has_the_macro_auroc_of_scikit_learn_and_all_intervals():
    truth, labels, scores = example()
    draws = draw_units(60, replicates=50, seed=0)
    source = score_classes(labels, scores, draws)
    auroc = sk.roc_auc_score(truth, scores, multi_class="ovr", average="macro")
    assert source.metrics["macro_auroc"] == pytest.approx(auroc)
    for name in ("accuracy", "mcc", "macro_f1", "macro_auroc"):
        low, point, high = (source.metrics[f"{name}{end}"] for end in ("_low", "", "_high"))
        assert low < point < high
    precision = sk.precision_score(truth, scores.argmax(axis=1), average=None)
    assert [x["precision"] for x in source.at_threshold] == pytest.approx(precision)


def test_a_gain_is_the_difference_on_the_same_draws():
    _, labels, scores = example()
    draws = draw_units(60, replicates=50, seed=0)
    better, worse = (score_classes(labels, x, draws) for x in (scores, scores[:, ::-1]))
    gains = better.gains_over(worse)
    difference = better.estimates["mcc"][1] - worse.estimates["mcc"][1]
    assert gains["mcc_gain"] == pytest.approx(better.metrics["mcc"] - worse.metrics["mcc"])
    ends = bootstrap_intervals(gains["mcc_gain"], difference, draws)[0]
    assert [gains["mcc_gain_low"], gains["mcc_gain_high"]] == pytest.approx(ends)
    assert better.gains_over(better)["accuracy_gain_high"] == 0
