"""Pictures of benchmark results: every point is a score of the result, published ones are hollow."""

from dataclasses import replace

import pytest

from dna_bigbird.bench.report.figures import best_published, summary_figure, task_figure
from dna_bigbird.metrics.task_results import Published
from tests.report.bench.example_tasks import example_task, pairs_task, variants_task


def points(ax) -> list[tuple[str, float, str]]:
    """Marker, value and fill of every point."""
    return [
        (line.get_marker(), float(line.get_xdata()[0]), str(line.get_markerfacecolor()))
        for line in ax.lines
        if len(line.get_xdata()) == 1
    ]


def intervals(ax) -> set[tuple[float, float]]:
    return {
        tuple(map(float, line.get_xdata()))
        for line in ax.lines
        if len(line.get_xdata()) == 2 and list(line.get_xdata()) != [0, 1]
    }


def test_a_task_has_every_source_on_both_subsets_and_published_scores():
    result = example_task()
    (ax,) = task_figure(result, "a tag").axes
    for marker, subset in (("o", "published"), ("^", "leak_free")):
        scores = [source.scores[subset]["accuracy"] for source in result.sources]
        assert [x for m, x, _ in points(ax) if m == marker] == [score.value for score in scores]
        assert {(score.low, score.high) for score in scores} <= intervals(ax)
    assert [(x, fill) for m, x, fill in points(ax) if m == "D"] == [
        (0.846, "white"), (0.966, "white"),
    ]  # fmt: skip
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:2] == ["model", "random weights"]
    assert labels[-2:] == ["CNN of the authors", "HyenaDNA"]
    assert ax.get_xlabel() == "accuracy"


def test_a_source_without_a_score_has_no_point():
    result = example_task()
    sources = [replace(x, scores={}) if x.name == "gc" else x for x in result.sources]
    (ax,) = task_figure(replace(result, sources=sources, published=[])).axes
    assert len(points(ax)) == 2 * 5
    assert len(ax.get_yticklabels()) == 6


def test_the_summary_has_a_panel_per_suite_and_metric():
    results = [
        example_task("a", "gue", metric="mcc"),
        example_task("covid", "gue", metric="macro_f1"),
        example_task("b", "gue", metric="mcc", seed=3),
        example_task("c"),
    ]
    titles = {"gue": "GUE", "genomic-benchmarks": "Genomic Benchmarks"}
    panels = summary_figure(results, titles).axes
    assert [(ax.get_title("left"), ax.get_xlabel()) for ax in panels] == [
        ("GUE", "MCC"), ("GUE", "macro F1"), ("Genomic Benchmarks", "accuracy"),
    ]  # fmt: skip
    assert [x.get_text() for x in panels[0].get_yticklabels()] == ["a", "b"]
    named = {source.name: source.scores for source in results[3].sources}
    assert [(marker, x) for marker, x, _ in points(panels[2])] == [
        ("o", named["model"]["published"]["accuracy"].value),
        ("^", named["model"]["leak_free"]["accuracy"].value),
        ("o", named["random_weights"]["published"]["accuracy"].value),
        ("s", named["cnn"]["published"]["accuracy"].value),
        ("D", 0.966),
    ]


@pytest.mark.parametrize(("metric", "best"), [("mcc", 0.9), ("rmse", 0.2)])
def test_the_best_published_score(metric, best):
    published = [Published("a", 0.2, "x"), Published("b", 0.9, "x")]
    assert best_published(replace(example_task(metric=metric), published=published)) == best
    assert best_published(replace(example_task(), published=[])) is None


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_scores_published_in_another_metric_are_not_drawn():
    published = [
        Published("DeepSEA, TF", 0.958, "Table 7", "median_auroc_TF"),
        Published("A", 0.9, "Table 1", "macro_auroc"),
    ]
    result = replace(example_task(metric="macro_auroc"), published=published)
    (ax,) = task_figure(result).axes
    assert [x for marker, x, _ in points(ax) if marker == "D"] == [0.9]
    assert [label.get_text() for label in ax.get_yticklabels()][6:] == ["A"]
    assert best_published(result) == 0.9
    other = replace(result, published=published[:1])
    assert best_published(other) is None
    for figure in (task_figure(other), summary_figure([other], {})):
        assert not any("published, not run here" in text for text in legend(figure))
        assert not any(marker == "D" for marker, *_ in points(figure.axes[0]))


@pytest.mark.parametrize(("result", "chance"), [(variants_task(), 0.125), (pairs_task(), 0.5)])
def test_chance_is_drawn(result, chance):
    figure = task_figure(result)
    dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert [set(line.get_xdata()) for line in dotted] == [{chance}]
    assert "chance" in legend(figure)
    summary = summary_figure([result], {})
    assert [x for marker, x, _ in points(summary.axes[0]) if marker == "|"] == [chance]
    assert "chance" in legend(summary)


def test_without_chance_there_is_no_line():
    result = example_task()
    for figure in (task_figure(result), summary_figure([result], {})):
        assert "chance" not in legend(figure)
        assert not any(line.get_linestyle() == ":" for line in figure.axes[0].lines)


def test_scores_of_variants_have_names_in_words():
    (ax,) = task_figure(variants_task()).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "model", "absolute log-likelihood ratio", "embedding distance", "embedding, cosine distance",
        "probe on embeddings", "GC content", "n-gram counts", "random order",
    ]  # fmt: skip
    assert ax.get_xlabel() == "AUPRC by chromosome"
