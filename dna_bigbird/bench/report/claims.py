"""Rows of the table of results, and what is claimed of the model compared with another source."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dna_bigbird.core.tables import Table
from dna_bigbird.metrics.names import metric_name, source_name
from dna_bigbird.metrics.scores import is_number
from dna_bigbird.metrics.task_results import (
    LEAK_FREE,
    MODEL,
    OTHER_SCORES,
    PUBLISHED,
    RANDOM_WEIGHTS,
    SUBSETS,
    Published,
    Score,
    SourceResult,
    TaskResult,
)
from dna_bigbird.metrics.verdicts import OUTCOMES, outcome
from dna_bigbird.models.label_types import LOWER_IS_BETTER

NO_SCORE = Score(None)


@dataclass(frozen=True)
class Claim:
    """What may be claimed of the model compared with another source, on a subset of the test rows."""

    source: str
    """Name of the other source."""
    subset: str
    n: int
    """Test rows of the subset."""
    difference: Score
    """Model minus source, paired over the test rows; without a value if it was not computed."""
    outcome: str
    """One of `OUTCOMES`."""


def claim(result: TaskResult, source: SourceResult, subset: str) -> Claim:
    """Return what may be claimed of the model compared with a source."""
    n = result.n.get(subset, 0)
    difference = source.minus.get(subset, NO_SCORE)
    key = outcome(difference, n, higher_is_better=result.metric not in LOWER_IS_BETTER)
    return Claim(source.name, subset, n, difference, key)


def metric_score(result: TaskResult, source: SourceResult | None, subset: str) -> Score:
    """Return a source's published metric on a subset; without a value if it has none."""
    return (
        NO_SCORE if source is None else source.scores.get(subset, {}).get(result.metric, NO_SCORE)
    )


def chance_score(result: TaskResult) -> float | None:
    """Return the metric that guessing is expected to reach, None if it is not recorded."""
    chances = result.settings.get("chance")
    value = chances.get(result.metric) if isinstance(chances, Mapping) else None
    return value if is_number(value) else None


def in_metric_of_task(result: TaskResult, published: Published) -> bool:
    """Return True if a published score is in the task's metric, so that it has its axis."""
    return published.metric in ("", result.metric)


def find_source(result: TaskResult, name: str) -> SourceResult | None:
    """Return the source of a name, None if it was not run."""
    return next((source for source in result.sources if source.name == name), None)


def best_baseline(result: TaskResult, subset: str) -> SourceResult | None:
    """Return the baseline with the best published metric on a subset; of equal ones the first."""
    # Random weights have their own column, and other scores are of the same model.
    sign = -1 if result.metric in LOWER_IS_BETTER else 1
    values = [
        (sign * value, -index, source)
        for index, source in enumerate(result.sources)
        if source.name not in (MODEL, RANDOM_WEIGHTS, *OTHER_SCORES)
        and is_number(value := metric_score(result, source, subset).value)
    ]
    return max(values, key=lambda x: x[:2])[2] if values else None


def claimed_subset(result: TaskResult) -> str:
    """Return the subset of the claims: the leak-free rows if they were counted."""
    return LEAK_FREE if LEAK_FREE in result.n else PUBLISHED


def main_claims(result: TaskResult) -> list[Claim]:
    """Return the claims of the summary: against the best baseline, and against random weights."""
    # Where no leak-free row is left, the baseline is the best on all rows: nothing is claimed.
    subset = claimed_subset(result)
    best = best_baseline(result, subset) or best_baseline(result, PUBLISHED)
    sources = (best, find_source(result, RANDOM_WEIGHTS))
    return [claim(result, source, subset) for source in sources if source is not None]


def count_outcomes(claims: Iterable[Claim | None]) -> dict[str, int]:
    """Return how many tasks have each outcome; None, a task without the source, has none."""
    outcomes = [x.outcome for x in claims if x is not None]
    return {name: outcomes.count(name) for name in OUTCOMES if name in outcomes}


NOT_RUN = "published elsewhere"
"""In the column `subset` of scores that others published."""


def table_rows(results: Sequence[TaskResult]) -> list[dict]:
    """Return a row per task, subset and source or published score; numbers as in task.json."""
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
        "suite": result.suite, "task": result.task, "metric": result.metric, "subset": subset,
        "source": source, "n": None, "left_out": None, "score": score.value,
        "score_low": score.low, "score_high": score.high, "sd": score.sd, "by_seed": seeds or None,
        "model_minus": difference.value, "model_minus_low": difference.low,
        "model_minus_high": difference.high, "claim": None, "flip_rate": None,
        "strand_correlation": None, "described": "",
    }  # fmt: skip


def left_out(result: TaskResult) -> int | None:
    """Return how many test rows are not leak-free, None if the leak-free rows were not counted."""
    return result.n[PUBLISHED] - result.n[LEAK_FREE] if LEAK_FREE in result.n else None


def table_tsv(rows: Sequence[dict]) -> str:
    """Write rows as tab-separated text; tabs and line ends within a name become blanks."""
    return Table([{key: _one_line(value) for key, value in row.items()} for row in rows]).to_tsv()


def table_markdown_rows(rows: Sequence[dict], metric: str) -> list[dict]:
    """Return the rows for readers: short columns, and text that cannot break a Markdown table."""
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
