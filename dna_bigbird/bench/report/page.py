"""The page of benchmark results, which needs nothing outside itself, and its Markdown form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dna_bigbird.bench.report.claims import (
    NO_SCORE,
    RANDOM_WEIGHTS,
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
from dna_bigbird.bench.suites.suite import MODULES, find_suite
from dna_bigbird.core.tables import Table
from dna_bigbird.evaluation.rendering import SEMI_SYNTHETIC_TAG, Gallery, Picture, render, sentence
from dna_bigbird.metrics.names import file_name, metric_name, source_name
from dna_bigbird.metrics.scores import score_text
from dna_bigbird.metrics.task_results import (
    LABELS,
    LEAK_FREE,
    MODEL,
    PUBLISHED,
    SUBSETS,
    Score,
    TaskResult,
)
from dna_bigbird.metrics.verdicts import FEWEST_ROWS

DEMO = "demo"
"""Start of the assembly of semi-synthetic data."""


def is_semi_synthetic(result: TaskResult) -> bool:
    """Whether a task's rows come from the demo, whose truth is planted."""
    return result.assembly.startswith(DEMO)


def task_section(result: TaskResult, anchor: str, picture: Picture) -> dict[str, object]:
    """Return what the page shows of a task."""
    names = (name for x in result.sources for scores in x.scores.values() for name in scores)
    settings = json.dumps(result.settings, indent=2, ensure_ascii=False, default=str)
    return {
        "anchor": anchor,
        "result": result,
        "is_semi_synthetic": is_semi_synthetic(result),
        "subsets": [_subset(result, subset) for subset in SUBSETS if subset in result.model.scores],
        "claims": main_claims(result),
        "left_out": left_out(result),
        "chance": chance_score(result),
        "other_scores": [name for name in dict.fromkeys(names) if name != result.metric],
        "settings": settings if result.settings else "",
        "picture": picture,
    }


def _subset(result: TaskResult, subset: str) -> dict[str, object]:
    """Return the sources on one subset: their metric, and what the model scores above it."""
    rows = []
    for source in result.sources:
        if subset in source.scores:
            compared = None if source.name == MODEL else claim(result, source, subset)
            row = {"name": source_name(source.name), "is_model": compared is None}
            row["score"] = metric_score(result, source, subset)
            row["difference"] = compared.difference if compared else NO_SCORE
            rows.append(row | {"outcome": compared.outcome if compared else ""})
    return {"subset": subset, "n": result.n.get(subset, 0), "rows": rows}


def summary_row(result: TaskResult, anchor: str) -> dict[str, Any]:
    """Return a task's row of the table at the top; the best baseline is that of all test rows."""
    baseline = best_baseline(result, PUBLISHED)
    return {
        "anchor": anchor,
        "suite": result.suite,
        "task": result.task,
        "metric": result.metric,
        "n": result.n[PUBLISHED],
        "model": metric_score(result, result.model, PUBLISHED),
        "random_weights": metric_score(result, find_source(result, RANDOM_WEIGHTS), PUBLISHED),
        "baseline": source_name(baseline.name) if baseline else "",
        "baseline_score": metric_score(result, baseline, PUBLISHED),
        "leak_free_n": result.n.get(LEAK_FREE),
        "leak_free": metric_score(result, result.model, LEAK_FREE),
        "claims": main_claims(result),
    }


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
    results: Sequence[TaskResult],
) -> tuple[str, Gallery]:
    """Return the page and its pictures."""
    gallery = Gallery()
    tag = SEMI_SYNTHETIC_TAG
    demo = [is_semi_synthetic(result) for result in results]
    some = f"some tasks: {tag}" if any(demo) and not all(demo) else tag
    facts = {name: suite_facts(name) for name in dict.fromkeys(x.suite for x in results)}
    titles = {name: each["title"] for name, each in facts.items()}
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
        suites=[(facts[name], tasks) for name, tasks in sections.items()],
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
        "several_suites": len({row["suite"] for row in rows}) > 1,
        "one_seed": any(len(x.seeds) == 1 for x in results if x.protocol == LABELS),
    }


def outcome_counts(rows: Sequence[dict]) -> dict[str, dict[str, int]]:
    """Count the outcomes of the claims against the best baseline, and against random weights."""
    weights = [[x for x in row["claims"] if x.source == RANDOM_WEIGHTS] for row in rows]
    baselines = [[x for x in row["claims"] if x.source != RANDOM_WEIGHTS] for row in rows]
    return {
        "baseline": count_outcomes(x for each in baselines for x in each),
        "random_weights": count_outcomes(x for each in weights for x in each),
    }


def suite_facts(name: str) -> dict[str, str]:
    """Return what the page says of a suite; one that this version does not know has a title only."""
    keys = ("title", "about", "source", "licence", "faults")
    if name not in MODULES:
        return dict.fromkeys(keys, "") | {"title": name}
    return {key: getattr(find_suite(name), key) for key in keys}


def bench_findings(results: Sequence[TaskResult]) -> list[str]:
    """Return one line per task: the metric on all and on leak-free rows, and what may be claimed."""
    rows = _summary(results)["rows"]
    return [sentence("bench/sentences.finding", row, metric_name(row["metric"])) for row in rows]


def bench_markdown(results: Sequence[TaskResult]) -> str:
    """Write the summary, then a table per task and subset of its test rows."""
    rows = [summary_row(result, "") for result in results]
    lines = [f"# {sentence('bench/sentences.title')}", ""]
    if any(map(is_semi_synthetic, results)):
        lines += [sentence("bench/sentences.planted"), ""]
    lines += [sentence("bench/sentences.rule", FEWEST_ROWS), ""]
    lines += [*Table([_markdown_row(row) for row in rows]).to_markdown(), ""]
    for result in results:
        title = suite_facts(result.suite)["title"]
        lines += [f"## {markdown_text(title)}: {markdown_text(result.task)}", ""]
        described = sentence("bench/sentences.task", result, metric_name(result.metric))
        lines += [f"{markdown_text(result.about)} {described}".strip(), ""]
        groups: dict[str, list[dict]] = {}
        for row in table_rows([result]):
            groups.setdefault(row["subset"], []).append(row)
        for subset, group in groups.items():
            lines += [f"**{sentence('bench/sentences.subset', subset)}**", ""]
            lines += [*Table(table_markdown_rows(group, result.metric)).to_markdown(), ""]
        if result.notes:
            lines += [*(f"- {markdown_text(note)}" for note in result.notes), ""]
    return "\n".join(lines)


def _markdown_row(row: dict[str, Any]) -> dict[str, object]:
    baseline = _interval(row["baseline_score"])
    return {
        "suite": markdown_text(row["suite"]),
        "task": markdown_text(row["task"]),
        "metric": metric_name(row["metric"]),
        "n": row["n"],
        "model": _interval(row["model"]),
        "random_weights": _interval(row["random_weights"]),
        "best_baseline": f"{markdown_text(row['baseline'])} {baseline}".lstrip(),
        "leak_free_model": _interval(row["leak_free"]),
        "leak_free_n": row["leak_free_n"],
        "claim": markdown_text(sentence("bench/sentences.claimed_all", row["claims"])),
    }


def _interval(score: Score) -> str:
    return "–" if score.value is None else score_text(score.value, score.low, score.high)
