"""Means over trainings with several seeds, and their differences, with intervals over seeds and examples.

A score is a ratio of sums over examples, as bits per base. Its interval has two parts: the seeds
scatter around their mean on the given examples, and the mean of the given seeds scatters over examples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json
from dna_bigbird.metrics.binary import confusion
from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.label_areas import AREAS, AT_THRESHOLD
from dna_bigbird.metrics.sources import Source

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
    """Return the mean score of `first` minus that of `second`, by example if these are the same."""
    value = float(first.scores.mean() - second.scores.mean())
    # Not paired: the scatter particular to a seed and an example counts in both parts, so the
    # interval is rather too wide than too narrow.
    over_seeds = [*_over_seeds(first), *_over_seeds(second)]
    if same_tokens:
        tops = first.tops.mean(axis=0) - second.tops.mean(axis=0)
        return SeedEstimate(value, [_over_examples(tops, first)], over_seeds)
    parts = [_over_examples(x.tops.mean(axis=0), x) for x in (first, second)]
    return SeedEstimate(value, parts, over_seeds)


def _over_examples(tops: np.ndarray, sums: SeedSums) -> tuple[float, int]:
    """Return the variance of a ratio of sums over examples (linearised; NaN of one) and its degrees of freedom."""
    bottoms, count = sums.bottoms, len(tops)
    if count < 2:
        return np.nan, 1
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


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation of a sample (n - 1).

    Example:
        >>> mean_and_sd([0.95, 0.96, 0.94])
        (0.95, 0.01)
    """
    if len(values) < 2:
        raise ValueError(f"a standard deviation needs two runs or more, got {len(values)}")
    return round(float(np.mean(values)), 6), round(float(np.std(values, ddof=1)), 6)


def runs_summary(files: Sequence[Path]) -> dict:
    """Join the `metrics.json` of runs on the same examples: means, and `_sd` of each."""
    if len(files) < 2:
        raise InputError(f"{len(files)} run(s) given; a standard deviation needs two or more")
    read = [read_json(Path(file)) for file in files]
    for file, scores in zip(files, read, strict=True):
        if "n" not in scores:
            raise InputError(f"{file}: no 'n' in it; expected a metrics.json")
        for key in ("n", "split", "seed", "baselines"):
            if scores.get(key) != read[0].get(key):
                raise InputError(
                    f"{file}: {key!r} is not that of {files[0]}; expected runs scored on the same "
                    "examples"
                )
    seeds = [scores.get("training_seed") for scores in read]
    if len(set(seeds)) < len(seeds):
        raise InputError(
            f"the training seeds of the runs are {', '.join(map(str, seeds))}; expected another in each"
        )
    summary: dict = {}
    for key in read[0]:
        values = [scores.get(key) for scores in read]
        # The baselines are those of equal `n`, `split` and `seed` of the bootstrap.
        if key.endswith(("_low", "_high")) or "_gain_over_" in key:
            continue
        if all(isinstance(value, float) for value in values):
            summary[key], summary[f"{key}_sd"] = mean_and_sd(values)
    kept = {key: read[0][key] for key in ("n", "seed", "split", "baselines") if key in read[0]}
    return {**summary, "runs": len(files), **kept}


# R draws, S seeds, L labels

LARGEST = 1.0
"""Of every score here; an interval ends there."""


@dataclass(frozen=True)
class SeedScores:
    """The scores of the trainings of one model or baseline, and of their mean under every draw."""

    values: Mapping[str, Sequence[float]]
    """(S,) by score."""
    drawn: Mapping[str, NDArray[np.float64]]
    """(R,) by score: the mean over seeds under each draw of the test rows."""
    units: int
    """Units that the bootstrap draws."""

    @property
    def seeds(self) -> int:
        """Number of trainings."""
        return len(next(iter(self.values.values())))

    def sd(self, score: str) -> float | None:
        """Return the standard deviation over seeds; None for one training."""
        return float(np.std(self.values[score], ddof=1)) if self.seeds > 1 else None

    def mean(self, score: str) -> SeedEstimate:
        """Return the mean over seeds."""
        return SeedEstimate(
            float(np.mean(self.values[score])),
            _over_rows(self.drawn[score], self.units),
            _scores_over_seeds(self, score),
        )

    def minus(self, other: "SeedScores", score: str) -> SeedEstimate:
        """Return the difference of the means, paired by test rows; seeds are not paired."""
        return SeedEstimate(
            float(np.mean(self.values[score]) - np.mean(other.values[score])),
            _over_rows(self.drawn[score] - other.drawn[score], self.units),
            [*_scores_over_seeds(self, score), *_scores_over_seeds(other, score)],
        )


def _over_rows(drawn_R: NDArray, units: int) -> list[tuple[float, int]]:
    defined = drawn_R[np.isfinite(drawn_R)]
    if units < 2 or len(defined) < 2:  # one unit alone has no scatter
        return [(np.nan, 1)]
    return [(float(np.var(defined, ddof=1)), units - 1)]


def _scores_over_seeds(scores: SeedScores, score: str) -> list[tuple[float, int]]:
    sd = scores.sd(score)
    return [] if sd is None else [(sd**2 / scores.seeds, scores.seeds - 1)]


def join(
    sources: Sequence[Source], drawn: Sequence[Mapping[str, NDArray]], units: int
) -> SeedScores:
    """Return the trainings of one model or baseline as one; `drawn` by `drawn_scores` of each."""
    names = list(drawn[0])
    return SeedScores(
        {name: [float(source.metrics[name]) for source in sources] for name in names},
        {name: np.mean([each[name] for each in drawn], axis=0) for name in names},
        units,
    )


def drawn_scores(
    source: Source, test: tuple[NDArray, NDArray], groups: Sequence[str], draws: Draws
) -> dict[str, NDArray[np.float64]]:
    """Return the scores of a source under every draw, (R,) each; `test`: labels, scores, (N, L)."""
    areas_ALR = source.areas.drawn
    if len(groups) == 1:
        labels, scores = (table[:, 0] for table in test)
        at = confusion(labels, scores, float(source.thresholds[0]), draws)
        at_half = confusion(labels, scores, 0.5, draws)
        return {
            **{name: areas_ALR[i, 0] for i, name in enumerate(AREAS)},
            **{name: getattr(at, name)() for name in AT_THRESHOLD},
            "f1_at_half": at_half.f1(),
        }
    drawn = {f"macro_{name}": np.nanmean(areas_ALR[i], axis=0) for i, name in enumerate(AREAS)}
    for group in dict.fromkeys(groups):
        here = [i for i, name in enumerate(groups) if name == group]
        for i, name in enumerate(AREAS):
            drawn[f"median_{name}_{group}"] = np.nanmedian(areas_ALR[i, here], axis=0)
            drawn[f"mean_{name}_{group}"] = np.nanmean(areas_ALR[i, here], axis=0)
    return drawn


def seed_metrics(scores: SeedScores) -> dict[str, float | int | list | None]:
    """Return every score with its ends, its standard deviation over seeds and its values by seed."""
    written: dict[str, float | int | list | None] = {"n_seeds": scores.seeds}
    for name, values in scores.values.items():
        written |= cells(name, scores.mean(name))
        written[f"{name}_sd"] = scores.sd(name)
        written[f"{name}_by_seed"] = [None if np.isnan(x) else round(x, 6) for x in values]
    return written


def cells(name: str, estimate: SeedEstimate) -> dict[str, float]:
    """Return an estimate and the ends of its 95 % t interval."""
    low, high = estimate.ends
    return {
        name: estimate.value,
        f"{name}_low": low,
        f"{name}_high": float(np.minimum(LARGEST, high)),
    }
