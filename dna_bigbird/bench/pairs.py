"""Scores of sequences and their changed forms: which one a model ranks higher, and by how much.

Without a control: the share of pairs whose real sequence scores higher than the changed one (Patel et
al. 2024, DART-Eval, task 1). With a control, an equally large change elsewhere: the share whose score falls
more by the change than by the control. One half is chance, and a tie counts one half.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.bootstrap import Draws, draw_units, percentile_interval
from dna_bigbird.metrics.task_results import Score

# N pairs, U units, R bootstrap draws

ACCURACY, MEAN_DIFFERENCE = "accuracy", "mean_difference"
MEAN_FALL, MEAN_CONTROL_FALL = "mean_fall", "mean_control_fall"


@dataclass(frozen=True)
class PairScores:
    """What a source gives to each pair; (N,) each, NaN where it has no score."""

    real: NDArray[np.float64]
    changed: NDArray[np.float64]
    control: NDArray[np.float64] | None = None
    """None: the pairs have no control."""

    def values(self) -> dict[str, NDArray[np.float64]]:
        """Return the scores that are means over pairs, (N,) each, by name.

        `accuracy`: 1, 0.5 for a tie, or 0. `mean_difference`: real minus changed, or with a control the
        control's minus the changed one's. With a control also `mean_fall` and `mean_control_fall`:
        how far each of the two changes lowers the score.

        Example:
            >>> pairs = PairScores(np.array([3.0, 3.0]), np.array([1.0, 2.0]), np.array([3.0, 2.0]))
            >>> {name: value.tolist() for name, value in pairs.values().items()}["accuracy"]
            [1.0, 0.5]
        """
        above = self.real if self.control is None else self.control
        difference = above - self.changed
        won = np.where(np.isnan(difference), np.nan, (np.sign(difference) + 1) / 2)
        scores = {ACCURACY: won, MEAN_DIFFERENCE: difference}
        if self.control is not None:
            scores[MEAN_FALL] = self.real - self.changed
            scores[MEAN_CONTROL_FALL] = self.real - self.control
        return scores

    def keep(self, rows: NDArray) -> "PairScores":
        """Return the scores of some pairs."""
        control = None if self.control is None else self.control[rows]
        return PairScores(self.real[rows], self.changed[rows], control)


def draw_pairs(names: Sequence[str], *, replicates: int, seed: int) -> Draws:
    """Draw pairs for intervals: those of one name together."""
    return draw_units(len(names), replicates=replicates, seed=seed, units=np.asarray(names))


def drawn_means(values_N: NDArray[np.float64], draws: Draws) -> NDArray[np.float64]:
    """Return the mean under each draw, (R,); values that are NaN are left out."""
    is_defined = np.isfinite(values_N)
    units, count = draws.units[is_defined], len(draws.times)
    sums_U = np.bincount(units, values_N[is_defined], minlength=count)
    sizes_U = np.bincount(units, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [(sums_U @ times_UR) / (sizes_U @ times_UR) for times_UR in draws.parts(1)]
    return np.concatenate(parts) if parts else np.empty(0)


def mean_of_defined(values_N: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not NaN; NaN of none."""
    defined = values_N[np.isfinite(values_N)]
    return float(defined.mean()) if len(defined) else np.nan


def mean_score(values_N: NDArray[np.float64], draws: Draws) -> Score:
    """Return the mean over pairs with its 95 % percentile interval."""
    return interval_score(mean_of_defined(values_N), drawn_means(values_N, draws))


def interval_score(value: float, drawn_R: NDArray[np.float64]) -> Score:
    """Return a score with the interval of its values under the draws; None where it is not defined."""
    low, high = percentile_interval(drawn_R) if len(drawn_R) else (np.nan, np.nan)
    return Score(*(round(float(x), 6) if np.isfinite(x) else None for x in (value, low, high)))
