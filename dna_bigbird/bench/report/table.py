"""Rows of the table of benchmark results: a row per task, subset of the test rows, and source."""

from collections.abc import Iterator, Sequence

from dna_bigbird.bench.report.claims import NO_SCORE, claim, metric_score
from dna_bigbird.core.tables import Table
from dna_bigbird.metrics.names import metric_name, source_name
from dna_bigbird.metrics.task_results import (
    LEAK_FREE,
    MODEL,
    PUBLISHED,
    SUBSETS,
    Score,
    SourceResult,
    TaskResult,
)

NOT_RUN = "published elsewhere"
"""In the column `subset` of scores that others published."""


def table_rows(results: Sequence[TaskResult]) -> list[dict]:
    """Return the rows: of each task all test rows, the leak-free ones, then scores published elsewhere.

    Numbers are those of task.json, not rounded; None where a score is not defined or does not exist.
    """
    return [row for result in results for row in _task_rows(result)]


def _task_rows(result: TaskResult) -> Iterator[dict]:
    for subset in SUBSETS:
        for source in result.sources:
            if subset in source.scores:
                yield _row(result, source, subset)
    for published in result.published:
        score = Score(published.value)
        row = _cells(result, NOT_RUN, published.model, score, NO_SCORE)
        metric = published.metric or result.metric
        yield row | {"metric": metric, "described": published.source}


def _row(result: TaskResult, source: SourceResult, subset: str) -> dict:
    score = metric_score(result, source, subset)
    is_model = source.name == MODEL
    compared = None if is_model else claim(result, source, subset)
    difference = NO_SCORE if compared is None else compared.difference
    row = _cells(result, subset, source.name, score, difference)
    row |= {
        "n": result.n.get(subset),
        "left_out": left_out(result) if subset == LEAK_FREE else None,
        "claim": None if compared is None else compared.outcome,
        "described": source.description,
    }
    if subset == PUBLISHED:  # strands are compared on all test rows
        row["flip_rate"] = source.strands.get("flip_rate")
        row["strand_correlation"] = source.strands.get("correlation")
    return row


def _cells(
    result: TaskResult, subset: str, source: str, score: Score, difference: Score
) -> dict[str, object]:
    seeds = ",".join("" if x is None else str(x) for x in score.by_seed)
    return {
        "suite": result.suite,
        "task": result.task,
        "metric": result.metric,
        "subset": subset,
        "source": source,
        "n": None,
        "left_out": None,
        "score": score.value,
        "score_low": score.low,
        "score_high": score.high,
        "sd": score.sd,
        "by_seed": seeds or None,
        "model_minus": difference.value,
        "model_minus_low": difference.low,
        "model_minus_high": difference.high,
        "claim": None,
        "flip_rate": None,
        "strand_correlation": None,
        "described": "",
    }


def left_out(result: TaskResult) -> int | None:
    """Return how many test rows are not leak-free, None if the leak-free rows were not counted."""
    return result.n[PUBLISHED] - result.n[LEAK_FREE] if LEAK_FREE in result.n else None


def table_tsv(rows: Sequence[dict]) -> str:
    """Write rows as tab-separated text; tabs and line ends within a name become blanks."""
    return Table([{key: _one_line(value) for key, value in row.items()} for row in rows]).to_tsv()


def table_markdown_rows(rows: Sequence[dict], metric: str) -> list[dict]:
    """Return the rows for readers: short columns, and text that cannot break a Markdown table.

    A score that is not in the task's metric has the name of its own metric after the source.
    """
    names = ("source", "n", "score", "sd", "by_seed", "model_minus", "claim", "described")
    kept = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    readable = []
    for row in rows:
        cells = _for_readers({key: row[key] for key in kept if key in row})
        if row["metric"] != metric:
            cells["source"] += f" ({markdown_text(metric_name(row['metric']))})"
        readable.append(cells)
    return readable


def _for_readers(row: dict) -> dict:
    if isinstance(seeds := row["by_seed"], str):
        row["by_seed"] = " ".join(f"{float(x):.3f}" if x else "–" for x in seeds.split(","))
    row["sd"] = None if row["sd"] is None else f"{row['sd']:.3f}"
    row["source"] = source_name(row["source"])
    row["claim"] = (row["claim"] or "–").replace("_", " ")
    return {key: markdown_text(value) for key, value in row.items()}


def markdown_text(value: object) -> object:
    """Return a value whose text has no line end, table border or markup; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = str(_one_line(value))
    for mark in ("\\", "|", "<", "*", "`", "[", "_"):
        text = text.replace(mark, f"\\{mark}")
    return text


def _one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value
