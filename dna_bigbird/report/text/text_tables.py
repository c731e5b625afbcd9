"""The paper's tables of text tasks with the measured rows below the published ones."""

from collections.abc import Mapping

from dna_bigbird.datasets.text.published import NONE, Column, PublishedTable
from dna_bigbird.report.markup import (
    Html,
    as_html,
    is_number,
    join,
    not_run,
    number,
    paragraph,
    table,
    with_interval,
)
from dna_bigbird.report.text.text_results import TextRun, scores_of_column
from dna_bigbird.report.words import verdict

DIGITS = 2
Runs = Mapping[str, TextRun]


def section(published: PublishedTable, runs: Runs) -> Html:
    """Return one table: published and measured cells, then every measured score with its circumstances."""
    measured = [column for column in published.columns if column.run in runs]
    missing = [x.title for x in published.columns if x.run and x.run not in runs]
    parts: list[object] = [
        Html(f'<section id="table{published.number}">'),
        Html(f"<h2>Table {published.number}: {as_html(published.title)}</h2>"),
        paragraph(published.about),
        cells(published, runs),
    ]
    if measured:
        parts += [details(measured, runs), verdicts(measured, runs)]
    if missing:
        parts.append(not_run(", ".join(missing), "dna-bigbird text evaluate"))
    return join([*parts, Html("</section>")])


def cells(published: PublishedTable, runs: Runs) -> Html:
    """Return the table of the paper with the measured rows below a heading of their own."""
    rows: list[tuple[object, ...]] = [("published by the paper; not computed here, not ranked",)]
    rows += [(name, *values) for name, values in published.rows.items()]
    if any(column.run in runs for column in published.columns):
        rows.append((_heading(published, runs),))
        rows.append(("BigBird, this run", *(cell(column, runs) for column in published.columns)))
        for name in baselines_of(published, runs):
            row = (cell(column, runs, name) for column in published.columns)
            rows.append((f"baseline: {name}", *row))
    return table(
        ["system", *(column.title for column in published.columns)],
        rows,
        caption=f"Table {published.number} of the paper, and what was measured",
        numeric=range(1, 1 + len(published.columns)),
        groups=True,
    )


def _heading(published: PublishedTable, runs: Runs) -> str:
    """Say what the measured rows were scored on, if it is the same for all."""
    found = {runs[column.run].about for column in published.columns if column.run in runs}
    return f"measured here: {found.pop() if len(found) == 1 else 'on what, stands below'}"


def baselines_of(published: PublishedTable, runs: Runs) -> list[str]:
    """Return the names of the baselines that have any score of the table, in their first order."""
    return list(
        dict.fromkeys(
            name
            for column in published.columns
            if column.run in runs
            for name in runs[column.run].metrics.get("baselines", {})
            if any(is_number(s.value) for s in scores_of_column(runs[column.run], column, name))
        )
    )


def cell(column: Column, runs: Runs, baseline: str = "") -> Html:
    """Return a measured cell as the paper prints it (± over several runs), or a dash."""
    if column.run not in runs:
        return Html(NONE)
    scores = scores_of_column(runs[column.run], column, baseline)
    if not any(is_number(score.value) for score in scores):
        return Html(NONE)
    shown = Html(" / ".join(number(score.value, DIGITS) for score in scores))
    spread = runs[column.run].metrics.get(f"{column.keys[0]}_sd") if not baseline else None
    return (
        Html(f"{shown} ± {number(spread * column.factor, DIGITS)}") if is_number(spread) else shown
    )


def details(columns: list[Column], runs: Runs) -> Html:
    """Return a row for every measured score: interval, best baseline, n, split, seed, data."""
    rows = []
    for column in columns:
        run = runs[column.run]
        ours = scores_of_column(run, column)
        for key, score in zip(column.keys, ours, strict=True):
            best = run.best_baseline(key, higher_is_better=column.higher_is_better)
            theirs = dict(zip(column.keys, scores_of_column(run, column, best), strict=True))
            rows.append(
                (
                    f"{column.title}: {key.replace('_', ' ')}",
                    with_interval(score.value, score.low, score.high, DIGITS),
                    Html(
                        f"{with_interval(theirs[key].value, theirs[key].low, theirs[key].high, DIGITS)} "
                        f"({as_html(best)})"
                    )
                    if best
                    else NONE,
                    number(run.metrics["n"]),
                    run.metrics["split"],
                    run.metrics.get("seed", NONE),
                    run.about,
                )
            )
    return table(
        ["score", "BigBird, this run", "best baseline", "n", "split", "seed", "data"],
        rows,
        caption="What was measured, with 95 % intervals over examples of one training each",
        numeric=(1, 2, 3, 5),
    )


def verdicts(columns: list[Column], runs: Runs) -> Html:
    """Say of the first score of every column who is ahead, the model or its best baseline."""
    lines = []
    for column in columns:
        run, key = runs[column.run], column.keys[0]
        best = run.best_baseline(key, higher_is_better=column.higher_is_better)
        text = verdict(
            run.score(key),
            run.score(key, best) if best else run.score(""),
            what=key.replace("_", " "),
            baseline_name=f"the baseline {best}" if best else "a baseline",
            gain=run.gain(key, best),
            higher_is_better=column.higher_is_better,
        )
        lines.append(f"<li>{as_html(column.title)} ({as_html(run.about)}): {as_html(text)}</li>")
    return Html(f'<ul class="verdicts">{"".join(lines)}</ul>')
