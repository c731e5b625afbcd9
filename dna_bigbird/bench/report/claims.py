"""Whether the model of a benchmark task is better than another source: the only rule for such a claim."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dna_bigbird.metrics.scores import is_number
from dna_bigbird.metrics.task_results import (
    FEWEST_ROWS,
    LEAK_FREE,
    MODEL,
    OTHER_SCORES,
    PUBLISHED,
    RANDOM_WEIGHTS,
    Published,
    Score,
    SourceResult,
    TaskResult,
)
from dna_bigbird.models.label_types import LOWER_IS_BETTER

BETTER, WORSE, NOT_CLEAR = "better", "worse", "not_clear"
TOO_FEW, NOT_DEFINED = "too_few_rows", "not_defined"
OUTCOMES = (BETTER, WORSE, NOT_CLEAR, TOO_FEW, NOT_DEFINED)
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
    """Return what may be claimed of the model compared with a source.

    `better` or `worse` if the 95 % interval of the paired difference excludes 0; an end that is 0 does not
    exclude it. Below `FEWEST_ROWS` test rows the outcome is `too_few_rows`, with any interval.
    """
    n = result.n.get(subset, 0)
    difference = source.minus.get(subset, NO_SCORE)
    return Claim(source.name, subset, n, difference, _outcome(difference, n, result.metric))


def _outcome(difference: Score, n: int, metric: str) -> str:
    if n < FEWEST_ROWS:
        return TOO_FEW
    if not all(map(is_number, (difference.value, difference.low, difference.high))):
        return NOT_DEFINED
    if difference.low <= 0 <= difference.high:
        return NOT_CLEAR
    return BETTER if (difference.low > 0) == (metric not in LOWER_IS_BETTER) else WORSE


def metric_score(result: TaskResult, source: SourceResult, subset: str) -> Score:
    """Return a source's published metric on a subset; without a value if it has none."""
    return source.scores.get(subset, {}).get(result.metric, NO_SCORE)


def chance_score(result: TaskResult) -> float | None:
    """Return the published metric that guessing is expected to reach, None if the task does not record it."""
    chances = result.settings.get("chance")
    value = chances.get(result.metric) if isinstance(chances, Mapping) else None
    return value if is_number(value) else None


def in_metric_of_task(result: TaskResult, published: Published) -> bool:
    """Return True if a score that was published elsewhere is in the task's metric, so that it has its axis."""
    return published.metric in ("", result.metric)


def find_source(result: TaskResult, name: str) -> SourceResult | None:
    """Return the source of a name, None if it was not run."""
    return next((source for source in result.sources if source.name == name), None)


def best_baseline(result: TaskResult, subset: str) -> SourceResult | None:
    """Return the baseline with the best published metric on a subset; of equal ones the first.

    The encoder with random weights is not one of the baselines; it has its own column. Neither are other
    ways to score the same model.
    """
    sign = -1 if result.metric in LOWER_IS_BETTER else 1
    values = [
        (sign * value, -index, source)
        for index, source in enumerate(result.sources)
        if source.name not in (MODEL, RANDOM_WEIGHTS, *OTHER_SCORES)
        and is_number(value := metric_score(result, source, subset).value)
    ]
    return max(values, key=lambda x: x[:2])[2] if values else None


def claimed_subset(result: TaskResult) -> str:
    """Return the subset that the claims of the summary are about: the leak-free rows if there are any scores."""
    return LEAK_FREE if LEAK_FREE in result.n else PUBLISHED


def main_claims(result: TaskResult) -> list[Claim]:
    """Return the claims of the summary: against the best baseline, and against random weights.

    Where no leak-free row is left, the baseline is the best on all test rows, and nothing is claimed.
    """
    subset = claimed_subset(result)
    best = best_baseline(result, subset) or best_baseline(result, PUBLISHED)
    sources = (best, find_source(result, RANDOM_WEIGHTS))
    return [claim(result, source, subset) for source in sources if source is not None]


def count_outcomes(claims: Iterable[Claim | None]) -> dict[str, int]:
    """Return how many tasks have each outcome; None, a task without the source, has none."""
    outcomes = [x.outcome for x in claims if x is not None]
    return {name: outcomes.count(name) for name in OUTCOMES if name in outcomes}
