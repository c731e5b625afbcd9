"""Scores of predictions with bootstrap intervals, by the official metric of a task."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.rounding import rounded
from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.set_counts import count_metrics, count_shared
from dna_bigbird.text.tasks.task import TextTask


@dataclass(frozen=True)
class TextScores:
    """Official metrics of one source of predictions."""

    values: dict[str, float]
    drawn: dict[str, NDArray[np.float64]]
    """The same under every bootstrap draw."""

    def metrics(self) -> dict[str, float]:
        """Return every metric with `_low` and `_high`, the 95 % interval."""
        return _with_intervals(self.values, self.drawn)

    def gains(
        self, other: "TextScores", name: str, no_scores: Collection[str] = ()
    ) -> dict[str, float]:
        """Return by how much every metric exceeds that of another source, on the same draws.

        Args:
            no_scores: Metrics without a gain, see `TextTask`.
        """
        shared = [key for key in self.values if key in other.values and key not in no_scores]
        return _with_intervals(
            {f"{key}_gain_over_{name}": self.values[key] - other.values[key] for key in shared},
            {f"{key}_gain_over_{name}": self.drawn[key] - other.drawn[key] for key in shared},
        )


class TextScorer:
    """Scores sources of predictions for one set of examples, all on the same bootstrap draws.

    Args:
        seed, replicates: Of the bootstrap, which draws examples.
    """

    def __init__(self, task: TextTask, examples: Sequence, *, seed: int, replicates: int) -> None:
        self.task, self.examples = task, examples
        self.draws = draw_units(len(examples), replicates=replicates, seed=seed)

    def score(self, predictions: Sequence) -> TextScores:
        """Score one source of predictions."""
        statistics = np.asarray(self.task.statistics(self.examples, predictions), np.float64)
        values = self.task.summarise(statistics)
        drawn = [
            self.task.summarise(np.repeat(statistics, times_N, axis=0))
            for times_N in self.draws.times.T
        ]
        return TextScores(
            values,
            {name: np.array([draw.get(name, math.nan) for draw in drawn]) for name in values},
        )


def evaluation(
    task: TextTask,
    rows: TextSet,
    predictions: Sequence,
    train_examples: Iterable | None,
    *,
    seed: int,
    replicates: int,
    described: dict,
) -> dict:
    """Return the contents of metrics.json: scores, counts, gains over baselines, their scores.

    Args:
        train_examples: For baselines that are fitted and for `n_in_training`.
        seed, replicates: Of the bootstrap.
        described: More entries.
    """
    scorer = TextScorer(task, rows.examples, seed=seed, replicates=replicates)
    own = scorer.score(predictions)
    baselines = {
        name: scorer.score(baseline)
        for name, baseline in task.baselines(train_examples, rows.examples).items()
    }
    metrics = {**own.metrics(), "n": len(rows.examples), **count_metrics(rows.counts)}
    if train_examples is not None:
        metrics["n_in_training"] = count_shared(rows.examples, train_examples)
    metrics |= {"seed": seed, **described}
    for name, other in baselines.items():
        metrics |= own.gains(other, name, task.no_scores)
    return rounded(
        metrics | {"baselines": {name: scores.metrics() for name, scores in baselines.items()}}
    )


def _with_intervals(
    values: dict[str, float], drawn: dict[str, NDArray[np.float64]]
) -> dict[str, float]:
    metrics = {}
    for name, value in values.items():
        low, high = percentile_interval(drawn[name])
        metrics |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return metrics
