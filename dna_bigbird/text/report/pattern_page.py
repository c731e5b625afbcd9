"""Table 1 of the paper on text as a page: published rows, and the measured ones by attention pattern."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.evaluation.pages.rendering import render
from dna_bigbird.metrics.published_table import Column
from dna_bigbird.metrics.scores import Score
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.text.report.pattern_results import PatternTrainings, read_patterns
from dna_bigbird.text.report.published_text import published_tables
from dna_bigbird.text.report.text_results import TextRun

TABLE = 1


@dataclass(frozen=True)
class PatternRow:
    """One attention pattern."""

    name: str
    blocks: str
    """What the pattern consists of."""
    key_share: float
    """Share of the (query block, key block) pairs that a layer reads."""
    means: Sequence[tuple[float, float | None]]
    """Mean and standard deviation over the seeds, by column."""
    scores: Sequence[tuple[int, Sequence[Score]]]
    """Of every training its seed, and its scores by column."""


def pattern_page(
    folders: Sequence[Path],
    synthetic: Collection[str],
    key_share: Callable[[EncoderConfig], float],
) -> tuple[str, list[dict]]:
    """Return the page, and a row per pattern, seed and score.

    Args:
        folders, synthetic: As `read_patterns`.
        key_share: Share of its sequence that a model's first layer reads, by its settings.

    Raises:
        InputError: As `read_patterns`.
    """
    published = next(table for table in published_tables() if table.number == TABLE)
    patterns, columns = read_patterns(folders, published, synthetic)
    runs = [patterns[0].trainings[0].runs[column.run] for column in columns]
    chosen = [published.columns.index(column) for column in columns]
    rows = [_row(pattern, columns, key_share) for pattern in patterns]
    page = render(
        "text_patterns.html",
        published={name: [cells[i] for i in chosen] for name, cells in published.rows.items()},
        about=published.about,
        columns=columns,
        rows=rows,
        baselines=[_baseline(column, run) for column, run in zip(columns, runs, strict=True)],
        data=runs,
        encoder=patterns[0].config.encoder,
    )
    return page, _table_rows(rows, columns)


def _row(
    pattern: PatternTrainings,
    columns: Sequence[Column],
    key_share: Callable[[EncoderConfig], float],
) -> PatternRow:
    return PatternRow(
        pattern.name,
        pattern.config.encoder.building_blocks,
        key_share(pattern.config.encoder),
        [pattern.mean(column) for column in columns],
        [
            (training.seed, [training.score(column) for column in columns])
            for training in pattern.trainings
        ],
    )


def _baseline(column: Column, run: TextRun) -> tuple[str, Score]:
    """Return name and score of the best baseline; "" if there is none.

    Baselines read no pattern and have no seed, so those of one training are those of all.
    """
    name = run.best_baseline(column, column.keys[0])
    return name, run.cell(column, name)[0]


def _table_rows(rows: Sequence[PatternRow], columns: Sequence[Column]) -> list[dict]:
    return [
        {"pattern": row.name, "seed": seed, "column": column.title, "score": column.keys[0]}
        | {"value": score.value, "low": score.low, "high": score.high}
        for row in rows
        for seed, scores in row.scores
        for column, score in zip(columns, scores, strict=True)
    ]
