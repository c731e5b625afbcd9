"""Means over trainings with several seeds, and their differences, with intervals over seeds and examples.

A score is a ratio of sums over examples, as bits per base. Its interval has two parts: the seeds
scatter around their mean on the given examples, and the mean of the given seeds scatters over examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# S seeds, N examples

COVERAGE = 0.95


@dataclass(frozen=True)
class SeedSums:
    """Sums over the tokens of each example, for every training of a variant."""

    tops: np.ndarray
    """Numerators, such as bits, (S, N)."""
    bottoms: np.ndarray
    """Denominators, such as base pairs, (N,); the same for all seeds."""

    @property
    def scores(self) -> np.ndarray:
        """The score of every seed over all examples, (S,)."""
        return self.tops.sum(axis=1) / self.bottoms.sum()

    @property
    def sd(self) -> float | None:
        """Standard deviation of the scores over seeds; None for one seed."""
        return float(self.scores.std(ddof=1)) if len(self.tops) > 1 else None


@dataclass(frozen=True)
class SeedEstimate:
    """A mean or a difference, and the parts of its variance."""

    value: float
    over_examples: Sequence[tuple[float, int]]
    """Variance and degrees of freedom of each part that comes from the choice of examples."""
    over_seeds: Sequence[tuple[float, int]]
    """Likewise of the seeds; empty if there is one training only."""

    @property
    def se_examples(self) -> float:
        """Standard error over examples, with these trainings."""
        return _sum(self.over_examples) ** 0.5

    @property
    def se_seeds(self) -> float:
        """Standard error over seeds, on these examples."""
        return _sum(self.over_seeds) ** 0.5

    @property
    def se(self) -> float:
        """Standard error over both."""
        return float(np.hypot(self.se_examples, self.se_seeds))

    @property
    def degrees_of_freedom(self) -> float:
        """Of the whole variance, by Welch and Satterthwaite."""
        parts = [*self.over_examples, *self.over_seeds]
        below = sum(variance**2 / freedom for variance, freedom in parts)
        return _sum(parts) ** 2 / below if below > 0 else np.inf

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % t interval."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees_of_freedom, (1 + COVERAGE) / 2)) * self.se
        return self.value - half, self.value + half

    @property
    def p(self) -> float:
        """The two-sided p value of a t test for 0."""
        from scipy.special import stdtr

        if self.se == 0:
            return float(self.value == 0)
        return float(2 * stdtr(self.degrees_of_freedom, -abs(self.value) / self.se))


def _sum(parts: Sequence[tuple[float, int]]) -> float:
    return sum(variance for variance, _ in parts)


def mean(sums: SeedSums) -> SeedEstimate:
    """Return the mean score over seeds."""
    value = float(sums.scores.mean())
    return SeedEstimate(value, [_over_examples(sums.tops.mean(axis=0), sums)], _over_seeds(sums))


def difference(first: SeedSums, second: SeedSums, *, same_tokens: bool) -> SeedEstimate:
    """Return the mean score of `first` minus that of `second`.

    Seeds are not paired. The scatter that is particular to a seed and an example is in both parts, so
    the interval is rather too wide than too narrow.

    Args:
        same_tokens: Both were scored on the same hidden tokens, so the difference is taken example by
            example. Else the two are treated as independent.
    """
    value = float(first.scores.mean() - second.scores.mean())
    over_seeds = [*_over_seeds(first), *_over_seeds(second)]
    if same_tokens:
        tops = first.tops.mean(axis=0) - second.tops.mean(axis=0)
        return SeedEstimate(value, [_over_examples(tops, first)], over_seeds)
    parts = [_over_examples(x.tops.mean(axis=0), x) for x in (first, second)]
    return SeedEstimate(value, parts, over_seeds)


def _over_examples(tops: np.ndarray, sums: SeedSums) -> tuple[float, int]:
    """Return the variance of a ratio of sums over examples (linearised) and its degrees of freedom."""
    bottoms, count = sums.bottoms, len(tops)
    if count < 2:
        return 0.0, 1
    residuals = tops - tops.sum() / bottoms.sum() * bottoms
    variance = count / (count - 1) * (residuals**2).sum() / bottoms.sum() ** 2
    return float(variance), count - 1


def _over_seeds(sums: SeedSums) -> list[tuple[float, int]]:
    count = len(sums.tops)
    return [(sums.sd**2 / count, count - 1)] if sums.sd is not None else []


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for the number of comparisons (Holm).

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(count, 0, -1)
    raised = np.maximum.accumulate(np.asarray(p_values)[order] * factors)
    corrected = np.empty(count)
    corrected[order] = np.minimum(raised, 1)
    return corrected.tolist()
