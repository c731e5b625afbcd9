"""The page of benchmark results, which needs nothing outside itself, and its Markdown form."""

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
    count_outcomes,
    find_source,
    left_out,
    main_claims,
    markdown_text,
    metric_score,
    table_markdown_rows,
    table_rows,
)
from dna_bigbird.bench.report.figures import summary_figure, task_figure
from dna_bigbird.bench.report.results import SuiteFacts
from dna_bigbird.core.tables import Table
from dna_bigbird.evaluation.rendering import SEMI_SYNTHETIC_TAG, Gallery, Picture, render, sentence
from dna_bigbird.metrics.names import file_name, metric_name, source_name
from dna_bigbird.metrics.scores import score_text
from dna_bigbird.metrics.task_results import (
    FEWEST_ROWS,
    LABELS,
    LEAK_FREE,
    MODEL,
    PUBLISHED,
    SUBSETS,
    Score,
    SourceResult,
    TaskResult,
)

DEMO = "demo"
"""Start of the assembly of semi-synthetic data."""


@dataclass(frozen=True)
class SourceRow:
    """A source's published metric on a subset of the test rows."""

    name: str
    is_model: bool
    score: Score
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
        score,
        compared.difference if compared else NO_SCORE,
        compared.outcome if compared else "",
    )


def summary_row(result: TaskResult, anchor: str) -> SummaryRow:
    """Return a task's row of the table at the top."""
    baseline = best_baseline(result, PUBLISHED)
    random_weights = find_source(result, RANDOM_WEIGHTS)

    def score(source: SourceResult | None, subset: str = PUBLISHED) -> Score:
        return metric_score(result, source, subset) if source else NO_SCORE

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
    """Return the settings in which the tasks of a page differ, with their values."""
    # Tasks of variants and of pairs train nothing, so they share the model only.
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


SUMMARY = "bench_summary"
"""File name of the picture of all tasks."""


def bench_report(
    results: Sequence[TaskResult], suites: Mapping[str, SuiteFacts]
) -> tuple[str, Gallery]:
    """Return the page and its pictures."""
    gallery = Gallery()
    tag = SEMI_SYNTHETIC_TAG
    demo = [is_semi_synthetic(result) for result in results]
    some = f"some tasks: {tag}" if any(demo) and not all(demo) else tag
    titles = {name: _facts(name, suites).title for name in (x.suite for x in results)}
    summary = summary_figure(results, titles, some if any(demo) else "")
    picture = gallery.add(SUMMARY, summary, is_wide=True)
    sections: dict[str, list] = {}
    for number, (result, is_demo) in enumerate(zip(results, demo, strict=True), start=1):
        figure = task_figure(result, tag if is_demo else "")
        drawn = gallery.add(file_name(result.suite, result.task, number), figure)
        sections.setdefault(result.suite, []).append(task_section(result, f"task-{number}", drawn))
    page = render(
        "bench_report.html",
        **_summary(results),
        picture=picture,
        titles=titles,
        num_demo=sum(demo),
        unequal=unequal_settings(results),
        suites=[(_facts(name, suites), tasks) for name, tasks in sections.items()],
        fewest_rows=FEWEST_ROWS,
        protocols={result.protocol for result in results},
        has_chance=any(chance_score(result) is not None for result in results),
    )
    return page, gallery


def _summary(results: Sequence[TaskResult]) -> dict[str, object]:
    rows = [summary_row(result, f"task-{i}") for i, result in enumerate(results, start=1)]
    return {
        "rows": rows,
        "outcomes": outcome_counts(rows),
        "several_suites": len({row.suite for row in rows}) > 1,
        "one_seed": any(len(x.seeds) == 1 for x in results if x.protocol == LABELS),
    }


def outcome_counts(rows: Sequence[SummaryRow]) -> dict[str, dict[str, int]]:
    """Count the outcomes of the claims against the best baseline, and against random weights."""
    weights = [[x for x in row.claims if x.source == RANDOM_WEIGHTS] for row in rows]
    baselines = [[x for x in row.claims if x.source != RANDOM_WEIGHTS] for row in rows]
    return {
        "baseline": count_outcomes(x for each in baselines for x in each),
        "random_weights": count_outcomes(x for each in weights for x in each),
    }


def _facts(name: str, suites: Mapping[str, SuiteFacts]) -> SuiteFacts:
    return suites.get(name) or SuiteFacts(name, name)


def bench_findings(results: Sequence[TaskResult]) -> list[str]:
    """Return one line per task: the metric on all and on leak-free rows, and what may be claimed."""
    rows = _summary(results)["rows"]
    return [sentence("bench/sentences.finding", row, metric_name(row.metric)) for row in rows]


def bench_markdown(results: Sequence[TaskResult], suites: Mapping[str, SuiteFacts]) -> str:
    """Write the summary, then a table per task and subset of its test rows."""
    rows = [summary_row(result, "") for result in results]
    lines = [f"# {sentence('bench/sentences.title')}", ""]
    if any(map(is_semi_synthetic, results)):
        lines += [sentence("bench/sentences.planted"), ""]
    lines += [sentence("bench/sentences.rule", FEWEST_ROWS), ""]
    lines += [*Table([_markdown_row(row) for row in rows]).to_markdown(), ""]
    for result in results:
        facts = _facts(result.suite, suites)
        lines += [f"## {markdown_text(facts.title)}: {markdown_text(result.task)}", ""]
        described = sentence("bench/sentences.task", result, metric_name(result.metric))
        lines += [f"{markdown_text(result.about)} {described}".strip(), ""]
        groups: dict[str, list[dict]] = {}
        for row in table_rows([result]):
            groups.setdefault(row["subset"], []).append(row)
        for subset, group in groups.items():
            lines += [f"**{sentence('bench/sentences.subset', subset)}**", ""]
            lines += [*Table(table_markdown_rows(group, result.metric)).to_markdown(), ""]
        lines += (
            [*(f"- {markdown_text(note)}" for note in result.notes), ""] if result.notes else []
        )
    return "\n".join(lines)


def _markdown_row(row: SummaryRow) -> dict[str, object]:
    scores = {
        "model": row.model,
        "random_weights": row.random_weights,
        "best_baseline": row.baseline_score,
        "leak_free_model": row.leak_free,
    }
    cells: dict[str, object] = {
        "suite": markdown_text(row.suite),
        "task": markdown_text(row.task),
        "metric": metric_name(row.metric),
        "n": row.n,
    }
    cells |= {name: _interval(score) for name, score in scores.items()}
    if row.baseline:
        cells["best_baseline"] = f"{markdown_text(row.baseline)} {cells['best_baseline']}"
    cells["leak_free_n"] = row.leak_free_n
    cells["claim"] = markdown_text(sentence("bench/sentences.claimed_all", row.claims))
    return cells


def _interval(score: Score) -> str:
    return "–" if score.value is None else score_text(score.value, score.low, score.high)
