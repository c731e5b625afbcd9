"""Metrics of one label and of many, beside a baseline, against scikit-learn and by definition."""

import math

import numpy as np
import pytest
from sklearn import metrics as sk

from dna_bigbird.core.rounding import rounded
from dna_bigbird.metrics.bootstrap import Draws, draw_units
from dna_bigbird.metrics.calibration import calibrate
from dna_bigbird.metrics.curves import curve_rows
from dna_bigbird.metrics.label_areas import choose_thresholds, columns, compare, label_areas
from dna_bigbird.metrics.sources import per_label, score_source


def one(seed, n=200):
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, 1)) < 0.3).astype(np.uint8)
    return labels, rng.normal(size=(n, 1)) + labels


def many(seed=0, n=120):
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, 5)) < 0.3).astype(np.uint8)
    labels[:, 3] = 0  # no positive
    scores = rng.normal(size=(n, 5)) + labels * np.array([2, 1, 0, 0, 1])
    return labels, 1 / (1 + np.exp(-scores))


def source(table, groups, replicates=100, seed=0):
    draws = draw_units(len(table[0]), replicates=replicates, seed=seed)
    return score_source(table, table, groups, draws)


def test_interval_holds_the_truth_about_as_often_as_it_says():
    """For two normals one apart the AUROC is Phi(1 / sqrt 2) = 0.7602."""
    hits = 0
    for seed in range(60):
        found = source(one(seed, n=150), [""], replicates=200).metrics
        hits += found["auroc_low"] <= 0.7602 <= found["auroc_high"]
    assert 50 <= hits <= 60  # 95 % of 60 is 57


def test_one_label():
    labels, scores = one(0)
    found = source((labels, scores), ["promoter"]).metrics
    assert found["auroc"] == pytest.approx(sk.roc_auc_score(labels, scores))
    assert found["auroc_low"] < found["auroc"] < found["auroc_high"]
    assert found["auroc_delong_low"] == pytest.approx(found["auroc_low"], abs=0.02)
    assert found["threshold"] == choose_thresholds(labels, scores)[0]
    assert (found["n"], found["n_positive"]) == (200, int(labels.sum()))
    assert found["f1_at_half"] == pytest.approx(sk.f1_score(labels, scores >= 0.5))
    keys = {"auroc", "auprc", "f1", "f1_at_half", "mcc", "precision", "recall", "auroc_delong"}
    ends = {f"{key}_{end}" for key in keys for end in ("low", "high")}
    assert set(found) == keys - {"auroc_delong"} | ends | {"threshold", "n", "n_positive"}
    assert source((labels, scores), ["x"]).metrics == found


def test_labels_without_a_score_are_left_out_and_counted():
    labels, scores = many()
    labels[:, 4] = 1
    found = source((labels, scores), ["TF", "TF", "HM", "HM", "empty"]).metrics
    defined = [sk.roc_auc_score(labels[:, i], scores[:, i]) for i in (0, 1, 2)]
    assert found["macro_auroc"] == pytest.approx(np.mean(defined))
    assert found["median_auroc_TF"] == pytest.approx(np.median(defined[:2]))
    assert found["mean_auroc_HM"] == pytest.approx(defined[2])
    assert math.isnan(found["median_auroc_empty"])
    assert math.isnan(found["median_auroc_empty_low"])
    assert (found["n_labels"], found["n_labels_undefined"]) == (5, 2)
    assert (found["n_labels_HM"], found["n_labels_undefined_HM"]) == (2, 1)
    assert (found["n_labels_TF"], found["n_labels_undefined_TF"]) == (2, 0)
    assert rounded(found)["median_auroc_empty"] is None
    assert found["macro_auroc_low"] < found["macro_auroc"] < found["macro_auroc_high"]


def test_the_median_of_a_group_under_a_draw_is_that_of_the_repeated_rows():
    labels, scores = many(n=60)
    draws = draw_units(60, replicates=4, seed=2, units=np.arange(60) // 5)
    drawn_ALR = label_areas(labels, scores, draws).drawn
    for r, times in enumerate(draws.times.T):
        rows = np.repeat(np.arange(60), times[draws.units])
        for label in (0, 1, 2):
            column = labels[rows, label], scores[rows, label]
            assert drawn_ALR[0, label, r] == pytest.approx(sk.roc_auc_score(*column))
            assert drawn_ALR[1, label, r] == pytest.approx(sk.average_precision_score(*column))


def test_intervals_of_blocks_are_wider_where_rows_repeat_each_other():
    """Every row ten times over is no more evidence; blocks of ten see it, single rows do not."""
    labels, scores = (np.repeat(table, 10, axis=0) for table in one(1, n=80))

    def width(units):
        draws = draw_units(800, replicates=300, seed=0, units=units)
        found = score_source((labels, scores), (labels, scores), [""], draws).metrics
        return found["auroc_high"] - found["auroc_low"]

    assert width(np.arange(800) // 10) / width(None) == pytest.approx(math.sqrt(10), rel=0.2)


def test_difference_of_two_models():
    labels, scores = many()
    worse = scores + np.random.default_rng(1).normal(size=scores.shape) * 3
    good, bad = (source((labels, x), [""] * 5, replicates=200).areas for x in (scores, worse))
    gain = compare(good, bad)
    assert gain["auroc_gain_low"] > 0
    assert compare(bad, good)["auroc_gain"] == pytest.approx(-gain["auroc_gain"])
    nothing = compare(good, good)
    assert (nothing["auroc_gain_low"], nothing["auroc_gain_high"]) == (0, 0)


def test_per_label_rows():
    labels, scores = many()
    names, groups = list("abcde"), ["TF"] * 5
    made = {name: source((labels, x), groups) for name, x in (("", scores), ("kmer", -scores))}
    calibration = calibrate(labels, scores, groups)
    rows = per_label(names, groups, made[""], {"kmer": made["kmer"]}, calibration)
    assert [r["label"] for r in rows] == names
    assert rows[0]["auroc"] + rows[0]["kmer_auroc"] == pytest.approx(1)
    assert rows[0]["auroc_low"] < rows[0]["auroc"] < rows[0]["auroc_high"]
    assert rows[0]["auroc_delong_low"] < rows[0]["auroc"] < rows[0]["auroc_delong_high"]
    assert rows[0]["brier"] == pytest.approx(
        sk.brier_score_loss(labels[:, 0], scores[:, 0]), abs=1e-6
    )
    for key in ("auroc", "auroc_low", "auroc_delong_high", "auprc_high", "kmer_auprc", "mcc"):
        assert math.isnan(rows[3][key]), key
    assert (rows[3]["n"], rows[3]["n_positive"]) == (120, 0)
    best = max(sk.f1_score(labels[:, 0], scores[:, 0] >= t) for t in scores[:, 0])
    assert rows[0]["f1"] == pytest.approx(best, abs=1e-6)


def test_columns_come_in_order_whatever_is_copied_at_once():
    table = np.arange(200).reshape(5, 40)
    found = [column for (column,) in columns(table)]
    assert (np.stack(found, axis=1) == table).all()


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"labels have shape \(200, 1\), scores \(200, 2\)"):
        label_areas(one(0)[0], np.zeros((200, 2)))


def masked(seed=0, n=120):
    """Labels that were not measured in a third of the cells, and scores; the last label is complete."""
    labels, scores = many(seed, n)
    labels = labels.astype(np.float32)
    labels[np.random.default_rng(5).random(labels.shape) < [0.3, 0.5, 0.3, 0.3, 0]] = np.nan
    return labels, scores.astype(np.float32)


def test_cells_that_were_not_measured_are_as_good_as_removed():
    """Each label against the same scores of its measured rows alone, also under each draw of blocks."""
    (held, held_scores), (labels, scores) = masked(1), masked()
    units = np.arange(120) // 4
    draws = draw_units(120, replicates=20, seed=0, units=units)
    groups = ["TF"] * 5
    found = score_source((held, held_scores), (labels, scores), groups, draws)
    calibration = calibrate(labels, scores, groups)
    rows = per_label(list("abcde"), groups, found, {}, calibration)
    for label, row in enumerate(rows):
        rows_held, here = (np.flatnonzero(~np.isnan(x[:, label])) for x in (held, labels))
        part = labels[here, label][:, None], scores[here, label][:, None]
        alone = score_source(
            (held[rows_held, label][:, None], held_scores[rows_held, label][:, None]),
            part,
            ["TF"],
            Draws(draws.units[here], draws.times),
        )
        np.testing.assert_array_equal(found.areas.drawn[:, label], alone.areas.drawn[:, 0])
        np.testing.assert_array_equal(found.areas.auroc_variance[label], alone.areas.auroc_variance)
        assert found.thresholds[label] == alone.thresholds[0]
        np.testing.assert_equal(found.at_threshold[label], alone.at_threshold[0])
        assert (row["n"], row["n_positive"]) == (len(here), int(part[0].sum()))
        assert row["brier"] == pytest.approx(sk.brier_score_loss(*part), abs=1e-6)
        if label != 3:
            assert row["auroc"] == pytest.approx(sk.roc_auc_score(*part), abs=1e-6)
            assert row["auprc"] == pytest.approx(sk.average_precision_score(*part), abs=1e-6)
    cells = ~np.isnan(labels)
    pooled = sk.brier_score_loss(labels[cells], scores[cells])
    assert calibration.metrics()["brier"] == pytest.approx(pooled)
    assert found.metrics["n_positive"] == (labels == 1).sum()


def test_scores_of_cells_that_were_not_measured_change_nothing():
    labels, scores = masked()
    other = np.where(np.isnan(labels), np.random.default_rng(9).random(labels.shape), scores)
    other = other.astype(np.float32)
    draws = draw_units(120, replicates=20, seed=0)

    def everything(values):
        table = labels, values
        made = score_source(table, table, ["x"] * 5, draws)
        curves = curve_rows(labels, {"model": values}, list("abcde"))
        calibration = calibrate(*table, ["x"] * 5)
        return made.metrics, made.at_threshold, calibration.table(), [*map(vars, curves)]

    np.testing.assert_equal(everything(scores), everything(other))


def test_one_label_counts_its_measured_rows():
    labels, scores = one(0)
    labels = np.where(np.arange(200)[:, None] < 50, np.nan, labels)
    found = source((labels, scores), ["promoter"]).metrics
    kept = source((labels[50:], scores[50:]), ["promoter"]).metrics
    names = (
        "auroc",
        "auprc",
        "f1",
        "mcc",
        "precision",
        "recall",
        "f1_at_half",
        "n",
        "n_positive",
        "threshold",
    )
    assert {name: found[name] for name in names} == {name: kept[name] for name in names}
