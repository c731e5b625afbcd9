"""Scores of predictions with bootstrap intervals, by the official metric of a task."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.datasets.text.rows import TextSet
from dna_bigbird.evaluation.bootstrap import draw_units, percentile_interval
from dna_bigbird.evaluation.rounding import rounded
from dna_bigbird.pipeline.text.set_rows import count_metrics, count_shared
from dna_bigbird.tasks.text.task import TextTask


@dataclass(frozen=True)
class Scores:
    """Official metrics of one source of predictions, as they are and under every draw."""

    values: dict[str, float]
    drawn: dict[str, NDArray[np.float64]]

    def metrics(self) -> dict[str, float]:
        """Return every metric with `_low` and `_high`, the 95 % interval."""
        return _with_intervals(self.values, self.drawn)

    def gains(self, other: "Scores", name: str) -> dict[str, float]:
        """Return by how much every metric exceeds that of another source, on the same draws."""
        shared = [metric for metric in self.values if metric in other.values]
        return _with_intervals(
            {f"{one}_gain_over_{name}": self.values[one] - other.values[one] for one in shared},
            {f"{one}_gain_over_{name}": self.drawn[one] - other.drawn[one] for one in shared},
        )


class Scorer:
    """One set of examples, and the draws by which everything that predicts on it is judged.

    Args:
        seed, replicates: Of the bootstrap, which draws examples.
    """

    def __init__(self, kind: TextTask, examples: Sequence, *, seed: int, replicates: int) -> None:
        self.kind, self.examples = kind, examples
        self.draws = draw_units(len(examples), replicates=replicates, seed=seed)

    def score(self, predictions: Sequence) -> Scores:
        """Score one source of predictions."""
        statistics = np.asarray(self.kind.statistics(self.examples, predictions), np.float64)
        values = self.kind.summarise(statistics)
        drawn = [
            self.kind.summarise(np.repeat(statistics, times_N, axis=0))
            for times_N in self.draws.times.T
        ]
        return Scores(
            values, {name: np.array([one.get(name, math.nan) for one in drawn]) for name in values}
        )


def evaluation(
    kind: TextTask,
    made: TextSet,
    predictions: Sequence,
    learnt_from: Sequence | None,
    *,
    seed: int,
    replicates: int,
    described: dict,
) -> dict:
    """Return the contents of metrics.json: scores, counts, gains over baselines, their scores.

    Args:
        learnt_from: Training examples, for baselines that learn and `n_in_training`.
        seed, replicates: Of the bootstrap.
        described: What else stands in it.
    """
    scorer = Scorer(kind, made.examples, seed=seed, replicates=replicates)
    own = scorer.score(predictions)
    found = kind.baselines(learnt_from, made.examples)
    baselines = {name: scorer.score(each) for name, each in found.items()}
    metrics = {**own.metrics(), "n": len(made.examples), **count_metrics(made.counts)}
    if learnt_from is not None:
        metrics["n_in_training"] = count_shared(made.examples, learnt_from)
    metrics |= {"seed": seed, **described}
    for name, other in baselines.items():
        metrics |= own.gains(other, name)
    return rounded(
        metrics | {"baselines": {name: scores.metrics() for name, scores in baselines.items()}}
    )


def _with_intervals(
    values: dict[str, float], drawn: dict[str, NDArray[np.float64]]
) -> dict[str, float]:
    found = {}
    for name, value in values.items():
        low, high = percentile_interval(drawn[name])
        found |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return found
