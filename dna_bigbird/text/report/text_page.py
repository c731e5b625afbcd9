"""The report of the text tasks as one HTML page that needs nothing outside itself."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import KMER, MODEL, add_marks, new_figure, style
from dna_bigbird.evaluation.rendering import Gallery, render
from dna_bigbird.metrics.published_table import Column, PublishedTable
from dna_bigbird.metrics.scores import Score, is_number, score_text
from dna_bigbird.text.report.text_results import (
    PRETRAINED_LARGE,
    TextRun,
    published_tables,
    read_runs,
)


class TaskScore(NamedTuple):
    """The first score of a task, of the model and of its best baseline."""

    title: str
    model: Score
    baseline: Score


def first_scores(runs: Mapping[str, TextRun]) -> list[TaskScore]:
    """Return the first score of every column in per cent or ROUGE."""
    scores = []
    for table in published_tables():
        for column in table.columns:
            if column.run in runs and column.higher_is_better:
                _, verdict = runs[column.run].verdict(column)
                title = f"{column.title.removesuffix(' m/mm')} ({column.keys[0].replace('_', ' ')})"
                pair = (x.times(column.factor) for x in (verdict.model, verdict.baseline))
                scores.append(TaskScore(f"T{table.number} {title}", *pair))
    return scores


def tasks_figure(rows: Sequence[TaskScore], tag: str = "") -> Figure:
    """Draw model and best baseline of every task with their intervals, one row per score."""
    with style():
        fig = new_figure(7.6, 1.3 + 0.3 * len(rows), tag)
        ax = fig.add_subplot()
        for name, scores, colour, mark, shift in (
            ("BigBird, this run", [row.model for row in rows], MODEL, "o", -0.13),
            ("best baseline", [row.baseline for row in rows], KMER, "s", 0.13),
        ):
            known = [(y + shift, x) for y, x in enumerate(scores) if is_number(x.value)]
            values, heights = [x.value for _, x in known], [y for y, _ in known]
            ax.plot(values, heights, mark, color=colour, ms=5, label=name)
            titles = [rows[round(y)].title for y in heights]
            texts = [score_text(x.value, x.low, x.high, 2) for _, x in known]
            add_marks(ax, values, heights, name, "{}: {}", titles, texts)
            for y, score in known:
                if score.has_interval:
                    ax.plot([score.low, score.high], [y, y], color=colour, lw=1.6)
        ax.set_yticks(range(len(rows)), [row.title for row in rows])
        ax.set(xlabel="score x 100", ylim=(len(rows) - 0.5, -0.5))
        fig.legend(loc="outside lower center", ncols=2)
    return fig


Runs = Mapping[str, TextRun]


@dataclass(frozen=True)
class MeasuredCell:
    """A measured cell as the paper prints it; without scores where there are none."""

    scores: Sequence[Score] = ()
    spread: float | None = None
    """Standard deviation over several runs."""


@dataclass(frozen=True)
class TextTable:
    """One table of the paper with the measured rows."""

    published: PublishedTable
    runs: Sequence[tuple[Column, TextRun]]
    """The columns that were measured, with their runs."""
    measured: Mapping[str, Sequence[MeasuredCell]]
    """Cells by baseline; "" is the model."""
    variants: Mapping[str, Sequence[MeasuredCell]]
    """Cells of models with other settings, by the name of the variant."""
    missing: Sequence[str]
    """Columns that were not run."""


def text_table(
    published: PublishedTable, runs: Runs, variants: Mapping[str, Runs] | None = None
) -> TextTable:
    """Return a table of the paper with the measured rows."""
    columns = [column for column in published.columns if column.run in runs]
    names = ["", *_baselines(columns, runs)] if columns else []
    return TextTable(
        published,
        [(column, runs[column.run]) for column in columns],
        {name: [_cell(column, runs, name) for column in published.columns] for name in names},
        {
            name: [_cell(column, own, "") for column in published.columns]
            for name, own in (variants or {}).items()
            if any(column.run in own for column in published.columns)
        },
        [x.title for x in published.columns if x.run not in ("", PRETRAINED_LARGE, *runs)],
    )


def _baselines(columns: Sequence[Column], runs: Runs) -> list[str]:
    """Return the names of the baselines that have a score of the table, in their first order."""
    names = (
        name
        for column in columns
        for name in runs[column.run].metrics.baselines
        if any(is_number(x.value) for x in runs[column.run].cell(column, name))
    )
    return list(dict.fromkeys(names))


def _cell(column: Column, runs: Runs, baseline: str) -> MeasuredCell:
    if column.run not in runs:
        return MeasuredCell()
    run = runs[column.run]
    scores = run.cell(column, baseline)
    if not any(is_number(score.value) for score in scores):
        return MeasuredCell()
    return MeasuredCell(scores, None if baseline else run.spread(column))


def text_report(
    folder: Path,
    synthetic: Collection[str] = (),
    pretrained: Path | None = None,
    variants: Mapping[str, Path] | None = None,
) -> tuple[str, Gallery]:
    """Read evaluations (see `read_runs`) and return the page and its picture."""
    runs = read_runs(folder, synthetic, pretrained)
    others = {name: read_runs(path, synthetic) for name, path in (variants or {}).items()}
    num_synthetic = sum(run.is_synthetic for run in runs.values())
    num_on_training = sum(run.num_in_training > 0 for run in runs.values())
    gallery = Gallery(_tag(runs, num_synthetic, num_on_training))
    scores = first_scores(runs)
    picture = None
    if scores:
        figure = tasks_figure(scores, gallery.tag)
        picture = gallery.add("text_tasks", figure, is_wide=True)
    page = render(
        "text_report.html",
        num_runs=len(runs),
        num_synthetic=num_synthetic,
        num_on_training=num_on_training,
        picture=picture,
        tables=[text_table(table, runs, others) for table in published_tables()],
    )
    return page, gallery


def _tag(runs: dict[str, TextRun], num_synthetic: int, num_on_training: int) -> str:
    """Return the line in the corner of the picture."""
    counts = {"synthetic text": num_synthetic, "scored on training examples": num_on_training}
    return ", ".join(
        f"{'all' if count == len(runs) else 'some'} {what}"
        for what, count in counts.items()
        if count
    )
