"""Data of the page of benchmark results as its templates show them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dna_bigbird.bench.report.claims import (
    NO_SCORE,
    RANDOM_WEIGHTS,
    Claim,
    best_baseline,
    chance_score,
    claim,
    find_source,
    main_claims,
    metric_score,
)
from dna_bigbird.bench.report.table import left_out
from dna_bigbird.evaluation.pages.gallery import Picture
from dna_bigbird.metrics.names import source_name
from dna_bigbird.metrics.scores import Score
from dna_bigbird.metrics.task_results import (
    LABELS,
    LEAK_FREE,
    MODEL,
    PUBLISHED,
    SUBSETS,
    SourceResult,
    TaskResult,
)
from dna_bigbird.metrics.task_results import Score as StoredScore

DEMO = "demo"
"""Start of the assembly of semi-synthetic data."""


@dataclass(frozen=True)
class SourceRow:
    """A source's published metric on a subset of the test rows."""

    name: str
    is_model: bool
    score: Score
    sd: float | None
    by_seed: Sequence[float | None]
    difference: Score
    """Model minus this source."""
    outcome: str
    """Of the claim, empty for the model."""


@dataclass(frozen=True)
class SubsetTable:
    """The sources on one subset."""

    subset: str
    n: int
    rows: Sequence[SourceRow]


@dataclass(frozen=True)
class TaskSection:
    """One task as the page shows it."""

    anchor: str
    result: TaskResult
    is_semi_synthetic: bool
    subsets: Sequence[SubsetTable]
    claims: Sequence[Claim]
    left_out: int | None
    chance: float | None
    """The published metric that guessing is expected to reach."""
    other_scores: Sequence[str]
    """Names of scores other than the published metric."""
    settings: str
    """As JSON text; empty if none is recorded."""
    picture: Picture


@dataclass(frozen=True)
class SummaryRow:
    """One task in the table at the top."""

    anchor: str
    suite: str
    task: str
    metric: str
    n: int
    model: Score
    random_weights: Score
    baseline: str
    """Name of the best baseline on all test rows, empty if there is none."""
    baseline_score: Score
    leak_free_n: int | None
    leak_free: Score
    claims: Sequence[Claim]


def shown_score(score: StoredScore) -> Score:
    """Return a score of task.json as templates print it."""
    return Score(score.value, score.low, score.high)


def is_semi_synthetic(result: TaskResult) -> bool:
    """Whether a task's rows come from the demo, whose truth is planted."""
    return result.assembly.startswith(DEMO)


def task_section(result: TaskResult, anchor: str, picture: Picture) -> TaskSection:
    """Return what the page shows of a task."""
    names = (name for x in result.sources for scores in x.scores.values() for name in scores)
    settings = json.dumps(result.settings, indent=2, ensure_ascii=False, default=str)
    return TaskSection(
        anchor,
        result,
        is_semi_synthetic(result),
        [_subset(result, subset) for subset in SUBSETS if subset in result.model.scores],
        main_claims(result),
        left_out(result),
        chance_score(result),
        [name for name in dict.fromkeys(names) if name != result.metric],
        settings if result.settings else "",
        picture,
    )


def _subset(result: TaskResult, subset: str) -> SubsetTable:
    sources = [source for source in result.sources if subset in source.scores]
    return SubsetTable(subset, result.n.get(subset, 0), [_row(result, x, subset) for x in sources])


def _row(result: TaskResult, source: SourceResult, subset: str) -> SourceRow:
    score = metric_score(result, source, subset)
    is_model = source.name == MODEL
    compared = None if is_model else claim(result, source, subset)
    return SourceRow(
        source_name(source.name),
        is_model,
        shown_score(score),
        score.sd,
        score.by_seed,
        shown_score(compared.difference if compared else NO_SCORE),
        compared.outcome if compared else "",
    )


def summary_row(result: TaskResult, anchor: str) -> SummaryRow:
    """Return a task's row of the table at the top."""
    baseline = best_baseline(result, PUBLISHED)
    random_weights = find_source(result, RANDOM_WEIGHTS)

    def score(source: SourceResult | None, subset: str = PUBLISHED) -> Score:
        return shown_score(metric_score(result, source, subset) if source else NO_SCORE)

    return SummaryRow(
        anchor,
        result.suite,
        result.task,
        result.metric,
        result.n[PUBLISHED],
        score(result.model),
        score(random_weights),
        source_name(baseline.name) if baseline else "",
        score(baseline),
        result.n.get(LEAK_FREE),
        score(result.model, LEAK_FREE),
        main_claims(result),
    )


def unequal_settings(results: Sequence[TaskResult]) -> Mapping[str, list[str]]:
    """Return the settings in which the tasks of a page differ, with their values.

    Tasks of variants and of pairs train nothing, so they share the model only.
    """
    trained = [x for x in results if x.protocol == LABELS]
    values = {
        key: {
            json.dumps(x.settings[key], sort_keys=True, default=str)
            for x in tasks
            if key in x.settings
        }
        for key, tasks in (("model", results), ("method", trained))
    }
    values["seeds"] = {" ".join(map(str, x.seeds)) or "none" for x in trained}
    return {
        key: sorted(x.strip('"') for x in each) for key, each in values.items() if len(each) > 1
    }
