"""The paper's tables of text tasks, with the measured rows below the published ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dna_bigbird.metrics.published_table import Column, PublishedTable
from dna_bigbird.metrics.scores import NO_SCORE, Score, is_number
from dna_bigbird.metrics.verdicts import Verdict
from dna_bigbird.text.report.text_results import TextRun

Runs = Mapping[str, TextRun]


@dataclass(frozen=True)
class MeasuredCell:
    """A measured cell as the paper prints it; without scores where there are none."""

    scores: Sequence[Score] = ()
    spread: float | None = None
    """Standard deviation over several runs."""


@dataclass(frozen=True)
class MeasuredScore:
    """One measured score, its best baseline ("" if none) and what was scored."""

    column: str
    key: str
    score: Score
    baseline: str
    baseline_score: Score
    run: TextRun


@dataclass(frozen=True)
class ColumnVerdict:
    """The first score of a column compared with its best baseline ("" if none)."""

    column: str
    key: str
    baseline: str
    verdict: Verdict
    run: TextRun


@dataclass(frozen=True)
class TextTable:
    """One table of the paper with the measured rows."""

    published: PublishedTable
    runs: Sequence[TextRun]
    """The runs that were measured, in the order of the columns."""
    measured: Mapping[str, Sequence[MeasuredCell]]
    """Cells by baseline; "" is the model."""
    variants: Mapping[str, Sequence[MeasuredCell]]
    """Cells of models with other settings, by the name of the variant."""
    scores: Sequence[MeasuredScore]
    verdicts: Sequence[ColumnVerdict]
    missing: Sequence[str]
    """Columns that were not run."""


def text_table(
    published: PublishedTable, runs: Runs, variants: Mapping[str, Runs] | None = None
) -> TextTable:
    """Return a table of the paper with the measured rows.

    Args:
        variants: Runs of the same sets with other settings, by name.
    """
    columns = [column for column in published.columns if column.run in runs]
    names = ["", *_baselines(columns, runs)] if columns else []
    return TextTable(
        published,
        [runs[column.run] for column in columns],
        {name: [_cell(column, runs, name) for column in published.columns] for name in names},
        {
            name: [_cell(column, own, "") for column in published.columns]
            for name, own in (variants or {}).items()
            if any(column.run in own for column in published.columns)
        },
        [score for column in columns for score in _scores(column, runs[column.run])],
        [_verdict(column, runs[column.run]) for column in columns],
        [x.title for x in published.columns if x.run and x.run not in runs],
    )


def _baselines(columns: Sequence[Column], runs: Runs) -> list[str]:
    """Return the names of the baselines that have a score of the table, in their first order."""
    return list(
        dict.fromkeys(
            name
            for column in columns
            for name in runs[column.run].metrics.baselines
            if any(is_number(x.value) for x in runs[column.run].cell(column, name))
        )
    )


def _cell(column: Column, runs: Runs, baseline: str) -> MeasuredCell:
    if column.run not in runs:
        return MeasuredCell()
    run = runs[column.run]
    scores = run.cell(column, baseline)
    if not any(is_number(score.value) for score in scores):
        return MeasuredCell()
    return MeasuredCell(scores, None if baseline else run.spread(column))


def _scores(column: Column, run: TextRun) -> Iterator[MeasuredScore]:
    for index, key in enumerate(column.keys):
        best = run.best_baseline(column, key)
        theirs = run.cell(column, best)[index] if best else NO_SCORE
        yield MeasuredScore(column.title, key, run.cell(column)[index], best, theirs, run)


def _verdict(column: Column, run: TextRun) -> ColumnVerdict:
    best, verdict = run.verdict(column)
    return ColumnVerdict(column.title, column.keys[0], best, verdict, run)
