"""The same bins seen through windows of several lengths: what a longer context is worth."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.evaluation.bootstrap import percentile_interval
from dna_bigbird.evaluation.label_areas import LabelAreas
from dna_bigbird.report.compare.head_runs import HeadRun
from dna_bigbird.report.compare.head_tables import Block, HeadComparison, set_warnings
from dna_bigbird.report.compare.lm_runs import cells
from dna_bigbird.report.words import Score

# L labels, R draws

TEXT = (
    "Every model was scored on the same bins with the same bootstrap draws, so a gain is a difference "
    "between two models, not between two test sets. It is beyond chance if its interval does not hold 0."
)


def context_table(
    runs: Sequence[HeadRun], areas: Sequence[LabelAreas], label_sets: Mapping[str, Sequence[int]]
) -> HeadComparison:
    """Compare models whose windows differ, on the bins that all of them have.

    Args:
        areas: Of each run, on the same rows and draws.
        label_sets: Labels (columns) over which AUROCs are averaged, by a short name.

    Returns:
        One block: mean AUROC over each set of labels, and its gain over the first run.
    """
    sets = {name: np.asarray(here) for name, here in label_sets.items() if len(here)}
    rows, notes = [], []
    for run, found in zip(runs, areas, strict=True):
        row: dict = {"predictor": run.name, "source": "this run", "window_bp": run.facts.window_bp}
        for name, here in sets.items():
            row |= cells(f"auroc_{name}", _mean(found.point[0], found.drawn[0], here))
            if run is runs[0]:
                row |= cells(f"gain_{name}", Score(None))
                continue
            first = areas[0]
            gain = _mean(found.point[0] - first.point[0], found.drawn[0] - first.drawn[0], here)
            row |= cells(f"gain_{name}", gain)
            notes.append(_gain_note(run, runs[0], f"{name} labels ({len(here)})", gain))
        row |= {"n": found.n, "n_positive": int(found.positives.sum())}
        row |= {"split": run.facts.split, "seed": run.metrics.get("seed")}
        rows.append(row | {"protocol": run.described})
    scores = [f"{kind}_{name}" for name in sets for kind in ("auroc", "gain")]
    heading = f"{areas[0].n:,} bins that all sets have; test {runs[0].facts.split}"
    notes += set_warnings(runs)
    block = Block("By window", TEXT, ((heading, tuple(rows)),), {heading: notes})
    return HeadComparison("Context", tuple(scores), tuple(scores), (block,))


def _gain_note(run: HeadRun, first: HeadRun, what: str, gain: Score) -> str:
    pair = f"{run.name} over {first.name}, {what}"
    if not gain.has_interval:
        return f"{pair}: the gain is not defined."
    told = f"gain in AUROC {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
    if gain.low > 0:
        return f"{pair}: ahead, {told}."
    return f"{pair}: {'behind' if gain.high < 0 else 'not told apart'}, {told}."


def _mean(point_L: NDArray, drawn_LR: NDArray, here: NDArray) -> Score:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no label is defined: NaN is the answer
        value = np.nanmean(point_L[here])
        low, high = percentile_interval(np.nanmean(drawn_LR[here], axis=0))
    return Score(float(value), low, high)
