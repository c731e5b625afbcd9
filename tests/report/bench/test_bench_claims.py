"""When the model is called better: only if the paired interval excludes 0, on at least 200 rows."""

from dataclasses import replace

import pytest

from dna_bigbird.bench.report.claims import (
    best_baseline,
    chance_score,
    claim,
    claimed_subset,
    find_source,
    main_claims,
)
from dna_bigbird.metrics.task_results import Score, SourceResult
from dna_bigbird.metrics.verdicts import FEWEST_ROWS
from tests.report.bench.example_tasks import (
    example_task,
    pairs_task,
    variants_task,
    with_difference,
)


@pytest.mark.parametrize(
    ("n", "ends", "outcome"),
    [
        (200, (0.03, 0.001, 0.06), "better"),
        (199, (0.03, 0.001, 0.06), "too_few_rows"),
        (199, (-0.3, -0.4, -0.2), "too_few_rows"),
        (0, (None, None, None), "too_few_rows"),
        (200, (-0.03, -0.06, -0.001), "worse"),
        (5000, (0.03, 0.0, 0.06), "not_clear"),
        (5000, (-0.03, -0.06, 0.0), "not_clear"),
        (5000, (0.01, -0.01, 0.03), "not_clear"),
        (5000, (0.0, 0.0, 0.0), "not_clear"),
        (5000, (0.03, None, 0.06), "not_defined"),
        (5000, (0.03, 0.01, None), "not_defined"),
        (5000, (None, 0.01, 0.06), "not_defined"),
        (5000, (0.03, float("nan"), 0.06), "not_defined"),
    ],
)
def test_rule(n, ends, outcome):
    assert FEWEST_ROWS == 200
    result = with_difference(example_task(n=6000, leak_free=n), "kmer", leak_free=ends)
    assert claim(result, find_source(result, "kmer"), "leak_free").outcome == outcome


def test_each_subset_has_its_own_rows_and_interval():
    result = with_difference(example_task(n=300, leak_free=150), "cnn", published=(0.1, 0.05, 0.15))
    cnn = find_source(result, "cnn")
    assert claim(result, cnn, "published").outcome == "better"
    assert claim(result, cnn, "leak_free").outcome == "too_few_rows"
    assert claim(result, cnn, "leak_free").n == 150


def test_a_difference_that_was_not_computed_gives_no_claim():
    result = example_task()
    sources = [replace(x, minus={}) for x in result.sources]
    result = replace(result, sources=sources)
    assert {x.outcome for x in main_claims(result)} == {"not_defined"}


def test_of_errors_the_lower_is_better():
    result = example_task(metric="rmse")
    result = with_difference(result, "kmer", leak_free=(-0.2, -0.3, -0.1))
    assert claim(result, find_source(result, "kmer"), "leak_free").outcome == "better"
    result = with_difference(result, "kmer", leak_free=(0.2, 0.1, 0.3))
    assert claim(result, find_source(result, "kmer"), "leak_free").outcome == "worse"


def tiny(metric: str, **values: float | None) -> list[SourceResult]:
    return [
        SourceResult(name, "", {"published": {metric: Score(value)}})
        for name, value in values.items()
    ]


@pytest.mark.parametrize(("metric", "best"), [("accuracy", "kmer"), ("rmse", "gc")])
def test_the_best_baseline_is_neither_the_model_nor_random_weights(metric, best):
    values = {"model": 0.9, "random_weights": 0.95, "gc": 0.5, "kmer": 0.8, "cnn": 0.8}
    sources = tiny(metric, **values, majority=None)
    result = replace(example_task(metric=metric), sources=sources)
    assert best_baseline(result, "published").name == best
    assert best_baseline(result, "leak_free") is None


def test_claims_are_about_leak_free_rows_and_name_their_source():
    result = with_difference(example_task(), "cnn", leak_free=(0.02, -0.001, 0.04))
    result = with_difference(result, "random_weights", leak_free=(0.05, 0.03, 0.07))
    assert claimed_subset(result) == "leak_free"
    assert [(x.source, x.subset, x.outcome) for x in main_claims(result)] == [
        ("cnn", "leak_free", "not_clear"),
        ("random_weights", "leak_free", "better"),
    ]
    assert claimed_subset(replace(result, n={"published": 9034})) == "published"


def test_the_claim_is_about_the_baseline_that_is_best_on_leak_free_rows():
    accuracy = {"kmer": (0.7, 0.8), "cnn": (0.9, 0.6), "model": (0.95, 0.7)}
    sources = [
        SourceResult(
            name,
            "",
            {
                "published": {"accuracy": Score(published)},
                "leak_free": {"accuracy": Score(leak_free)},
            },
        )
        for name, (published, leak_free) in accuracy.items()
    ]
    result = replace(example_task(metric="accuracy"), sources=sources)
    assert best_baseline(result, "published").name == "cnn"
    assert [x.source for x in main_claims(result)] == ["kmer"]


def test_other_scores_of_the_model_are_not_baselines():
    result = variants_task()
    assert best_baseline(result, "published").name in ("gc", "counting", "random")
    assert [x.source for x in main_claims(result)] == [best_baseline(result, "leak_free").name]


@pytest.mark.parametrize(
    ("result", "chance"),
    [
        (variants_task(), 0.125),
        (pairs_task(), 0.5),
        (example_task(), None),
        (variants_task(settings={"chance": {"auroc": 0.5}}), None),
        (variants_task(settings={"chance": {"auprc_by_chromosome": None}}), None),
        (variants_task(settings={"chance": 0.5}), None),
    ],
)
def test_chance_is_that_of_the_published_metric(result, chance):
    assert chance_score(result) == chance
