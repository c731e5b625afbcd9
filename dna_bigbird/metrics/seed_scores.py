"""Scores of labels over trainings with several seeds: means, and differences on the same rows.

As in `seed_means` the variance has two parts: over test rows, by the bootstrap of the mean of the given
trainings, and over seeds.
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
from dna_bigbird.metrics.seed_means import SeedEstimate
from dna_bigbird.metrics.sources import Source

# Several runs that differ in their seed: mean and standard deviation of their scores.


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation of a sample (n - 1).

    Raises:
        ValueError: If there are fewer than two values.

    Example:
        >>> mean_and_sd([0.95, 0.96, 0.94])
        (0.95, 0.01)
    """
    if len(values) < 2:
        raise ValueError(f"a standard deviation needs two runs or more, got {len(values)}")
    return round(float(np.mean(values)), 6), round(float(np.std(values, ddof=1)), 6)


def runs_summary(files: Sequence[Path]) -> dict:
    """Join the `metrics.json` of runs on the same examples: every `<metric>` as mean, `<metric>_sd`.

    A metric is any fraction that all files have; intervals and gains over baselines are left out.
    `n`, `split` and `seed` (of the bootstrap) must be equal, as the baselines then are; the seeds of
    the training must differ.

    Raises:
        InputError: If there are fewer than two files, or they are no such runs.
    """
    if len(files) < 2:
        raise InputError(f"{len(files)} run(s) given; a standard deviation needs two or more")
    read = [_scores(Path(file)) for file in files]
    for key in ("n", "split", "seed", "baselines"):
        odd = next(
            (i for i, scores in enumerate(read) if scores.get(key) != read[0].get(key)), None
        )
        if odd is not None:
            raise InputError(
                f"{files[odd]}: {key!r} is not that of {files[0]}; expected runs scored on the same "
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
        if key.endswith(("_low", "_high")) or "_gain_over_" in key:
            continue
        if all(isinstance(value, float) for value in values):
            summary[key], summary[f"{key}_sd"] = mean_and_sd(values)
    kept = {key: read[0][key] for key in ("n", "seed", "split", "baselines") if key in read[0]}
    return {**summary, "runs": len(files), **kept}


def _scores(file: Path) -> dict:
    scores = read_json(file)
    if "n" not in scores:
        raise InputError(f"{file}: no 'n' in it; expected a metrics.json")
    return scores


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
            _over_seeds(self, score),
        )

    def minus(self, other: "SeedScores", score: str) -> SeedEstimate:
        """Return the difference of the means, paired by test rows; seeds are not paired."""
        return SeedEstimate(
            float(np.mean(self.values[score]) - np.mean(other.values[score])),
            _over_rows(self.drawn[score] - other.drawn[score], self.units),
            [*_over_seeds(self, score), *_over_seeds(other, score)],
        )


def _over_rows(drawn_R: NDArray, units: int) -> list[tuple[float, int]]:
    defined = drawn_R[np.isfinite(drawn_R)]
    variance = float(np.var(defined, ddof=1)) if len(defined) > 1 else 0.0
    return [(variance, max(1, units - 1))]


def _over_seeds(scores: SeedScores, score: str) -> list[tuple[float, int]]:
    sd = scores.sd(score)
    return [] if sd is None else [(sd**2 / scores.seeds, scores.seeds - 1)]


def join(
    sources: Sequence[Source], drawn: Sequence[Mapping[str, NDArray]], units: int
) -> SeedScores:
    """Return the trainings of one model or baseline as one.

    Args:
        sources: Results of each training on the same rows and draws.
        drawn: Of each what `drawn_scores` returns.
    """
    names = list(drawn[0])
    return SeedScores(
        {name: [float(source.metrics[name]) for source in sources] for name in names},
        {name: np.mean([each[name] for each in drawn], axis=0) for name in names},
        units,
    )


def drawn_scores(
    source: Source, test: tuple[NDArray, NDArray], groups: Sequence[str], draws: Draws
) -> dict[str, NDArray[np.float64]]:
    """Return the scores of a source under every draw, (R,) each, by their keys in its metrics.

    Args:
        test: Labels and scores of the test rows, (N, L) each.
    """
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
    return {name: estimate.value, f"{name}_low": low, f"{name}_high": min(LARGEST, high)}
