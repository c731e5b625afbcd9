"""Scores of predictions with bootstrap intervals, by the official metric of a task."""

import math
from collections.abc import Sequence

import numpy as np

from dna_bigbird.evaluation.bootstrap import draw_units, percentile_interval
from dna_bigbird.tasks.text.kind import TextKind


class Scorer:
    """One set of examples, and the draws by which everything that predicts on it is judged.

    Args:
        seed, replicates: Of the bootstrap, which draws examples.
    """

    def __init__(self, kind: TextKind, examples: Sequence, *, seed: int, replicates: int) -> None:
        self.kind, self.examples = kind, examples
        self.draws = draw_units(len(examples), replicates=replicates, seed=seed)

    def score(self, predictions: Sequence) -> dict[str, float]:
        """Return every metric with `_low` and `_high`, the 95 % interval."""
        statistics = np.asarray(self.kind.statistics(self.examples, predictions), np.float64)
        found = self.kind.summarise(statistics)
        drawn: dict[str, list[float]] = {name: [] for name in found}
        for times_N in self.draws.times.T:
            resampled = self.kind.summarise(np.repeat(statistics, times_N, axis=0))
            for name in drawn:
                drawn[name].append(resampled.get(name, math.nan))
        scores = {}
        for name, value in found.items():
            low, high = percentile_interval(drawn[name])
            scores |= {name: value, f"{name}_low": low, f"{name}_high": high}
        return scores

    def lines(self, metrics: dict) -> list[str]:
        """Return metrics of the model and of its baselines in words, a line each."""
        names = [name for name in metrics if f"{name}_low" in metrics]
        rows = {"model": metrics, **metrics["baselines"]}
        return [
            f"{source}: " + ", ".join(f"{name} {_with_interval(table, name)}" for name in names)
            for source, table in rows.items()
        ]


def _with_interval(table: dict, name: str) -> str:
    if table.get(name) is None:
        return "-"
    return f"{table[name]} ({table[f'{name}_low']}-{table[f'{name}_high']})"
