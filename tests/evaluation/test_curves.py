"""Thinned curves are compared with scikit-learn's exact scores."""

import csv
import io

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from dna_bigbird.metrics.curves import curve_rows, thin, write_curves


def example(rows: int = 3000, labels: int = 4):
    rng = np.random.default_rng(5)
    truth = (rng.random((rows, labels)) < np.linspace(0.02, 0.5, labels)).astype(np.uint8)
    strong = truth * 1.5 + rng.normal(size=truth.shape)
    weak = truth * 0.4 + rng.normal(size=truth.shape)
    return truth, {"model": strong, "kmer": weak}, [f"label{i}" for i in range(labels)]


def curve(points, label, source, kind):
    found = [(p.x, p.y) for p in points if (p.label, p.source, p.curve) == (label, source, kind)]
    return np.array(found).T


def test_areas_of_thinned_curves_are_those_of_all_rows():
    truth, scores, names = example()
    points = curve_rows(truth, scores, names)
    for i, name in enumerate(names):
        for source, values in scores.items():
            x, y = curve(points, name, source, "roc")
            assert len(x) <= 200
            assert np.trapezoid(y, x) == pytest.approx(
                roc_auc_score(truth[:, i], values[:, i]), abs=2e-3
            )
            x, y = curve(points, name, source, "pr")
            assert len(x) <= 200
            exact = average_precision_score(truth[:, i], values[:, i])
            assert np.sum(np.diff(x) * y[1:]) == pytest.approx(exact, abs=0.02)


def test_macro_area_is_the_mean_area_and_micro_is_the_pooled_one():
    truth, scores, names = example()
    points = curve_rows(truth, scores, names)
    for source, values in scores.items():
        x, y = curve(points, "macro-average", source, "roc")
        each = [roc_auc_score(truth[:, i], values[:, i]) for i in range(len(names))]
        assert np.trapezoid(y, x) == pytest.approx(np.mean(each), abs=5e-3)
        x, y = curve(points, "micro-average", source, "roc")
        pooled = roc_auc_score(truth.ravel(), values.ravel())
        assert np.trapezoid(y, x) == pytest.approx(pooled, abs=2e-3)


def test_chance_lines_are_the_diagonal_and_the_share_of_positives():
    truth, scores, names = example()
    points = curve_rows(truth, scores, names)
    assert curve(points, "label1", "chance", "roc").tolist() == [[0, 1], [0, 1]]
    assert curve(points, "label1", "chance", "pr")[1] == pytest.approx([truth[:, 1].mean()] * 2)
    assert curve(points, "micro-average", "chance", "pr")[1] == pytest.approx([truth.mean()] * 2)


def test_a_small_case_by_hand():
    """Scores 4 3 2 1, truth 1 0 1 0: two steps up, two to the right."""
    truth = np.array([[1], [0], [1], [0]])
    points = curve_rows(truth, {"model": np.array([[4.0], [3.0], [2.0], [1.0]])}, ["p"])
    x, y = curve(points, "p", "model", "roc")
    assert list(zip(x, y, strict=True)) == [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1), (1, 1)]
    x, y = curve(points, "p", "model", "pr")
    assert y == pytest.approx([1, 1, 0.5, 2 / 3, 0.5])
    assert x == pytest.approx([0, 0.5, 0.5, 1, 1])


def test_one_label_has_no_averages_and_a_label_without_positives_no_curve():
    truth, scores, names = example(labels=2)
    truth[:, 0] = 0
    points = curve_rows(truth, scores, names)
    assert {p.label for p in points} == {"label1"}
    assert curve_rows(np.zeros((5, 1)), {"model": np.zeros((5, 1))}, ["none"]) == []


def test_many_labels_give_only_averages_and_equal_names_are_numbered():
    truth, scores, names = example()
    assert {p.label for p in curve_rows(truth, scores, names, labels_up_to=3)} == {
        "macro-average",
        "micro-average",
    }
    same = curve_rows(truth, scores, ["p300", "p300", "YY1", "NA"])
    assert {p.label for p in same} >= {"p300", "p300 (2)"}


def test_rows_without_a_score_are_left_out_for_every_source():
    truth, scores, names = example(rows=400, labels=1)
    broken = {source: values.copy() for source, values in scores.items()}
    broken["kmer"][:100] = np.nan
    kept = curve_rows(truth[100:], {s: v[100:] for s, v in scores.items()}, names)
    assert curve_rows(truth, broken, names) == kept


def test_wrong_shapes_are_refused():
    truth, scores, names = example(rows=10)
    with pytest.raises(ValueError, match=r"labels are \(10, 4\), expected \(rows, 3\)"):
        curve_rows(truth, scores, names[:3])
    with pytest.raises(ValueError, match=r"scores of 'model' are \(10, 3\), labels \(10, 4\)"):
        curve_rows(truth, {"model": scores["model"][:, :3]}, names)
    with pytest.raises(ValueError, match="needs at least 2"):
        thin(np.arange(3), np.arange(3), 1)


def test_table_text_is_read_back():
    truth, scores, names = example(rows=50)
    points = curve_rows(truth, scores, names)
    rows = list(csv.DictReader(io.StringIO(write_curves(points)), delimiter="\t"))
    assert len(rows) == len(points)
    assert float(rows[3]["y"]) == pytest.approx(points[3].y, abs=1e-6)
