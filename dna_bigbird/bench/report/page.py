"""The page of benchmark results, which needs nothing outside itself, and its Markdown form."""

from collections.abc import Mapping, Sequence

from dna_bigbird.bench.report.claims import RANDOM_WEIGHTS, chance_score, count_outcomes
from dna_bigbird.bench.report.figures import summary_figure, task_figure
from dna_bigbird.bench.report.results import SuiteFacts
from dna_bigbird.bench.report.sections import (
    SummaryRow,
    is_semi_synthetic,
    shown_score,
    summary_row,
    task_section,
    unequal_settings,
)
from dna_bigbird.bench.report.table import markdown_text, table_markdown_rows, table_rows
from dna_bigbird.evaluation.compare.markdown import markdown_table
from dna_bigbird.evaluation.pages.gallery import SEMI_SYNTHETIC_TAG, Gallery
from dna_bigbird.evaluation.pages.rendering import render, sentence
from dna_bigbird.metrics.names import file_name, metric_name
from dna_bigbird.metrics.scores import Score, shown
from dna_bigbird.metrics.task_results import FEWEST_ROWS, LABELS, TaskResult

SUMMARY = "bench_summary"
"""File name of the picture of all tasks."""


def bench_report(
    results: Sequence[TaskResult], suites: Mapping[str, SuiteFacts]
) -> tuple[str, Gallery]:
    """Return the page and its pictures.

    Args:
        results: At least one; tasks of one suite may be in several parts, they are shown together.
        suites: Facts of the suites by name; those without are shown by their name.
    """
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
        shown_score=shown_score,
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
    lines += [*markdown_table([_markdown_row(row) for row in rows]), ""]
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
            lines += [*markdown_table(table_markdown_rows(group, result.metric)), ""]
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
    if score.value is None:
        return "–"
    ends = f" [{shown(score.low)}, {shown(score.high)}]" if score.has_interval else ""
    return f"{shown(score.value)}{ends}"
