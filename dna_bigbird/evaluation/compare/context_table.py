"""The same bins in windows of several lengths: the gain from a longer context."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.evaluation.compare.head_notes import set_warnings
from dna_bigbird.evaluation.compare.head_runs import HeadRun
from dna_bigbird.evaluation.compare.head_tables import Block, HeadComparison
from dna_bigbird.evaluation.compare.lm_runs import cells
from dna_bigbird.evaluation.pages.rendering import sentence
from dna_bigbird.metrics.bootstrap import percentile_interval
from dna_bigbird.metrics.label_areas import LabelAreas
from dna_bigbird.metrics.scores import NO_SCORE, Score

# L labels, R draws


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
    sets = {name: np.asarray(columns) for name, columns in label_sets.items() if len(columns)}
    rows, notes = [], []
    for run, own in zip(runs, areas, strict=True):
        row: dict = {"predictor": run.name, "source": "this run", "window_bp": run.facts.window_bp}
        for name, columns in sets.items():
            row |= cells(f"auroc_{name}", _mean(own.point[0], own.drawn[0], columns))
            gain = NO_SCORE if run is runs[0] else _gain(own, areas[0], columns)
            row |= cells(f"gain_{name}", gain)
            if run is not runs[0]:
                names = (run.name, runs[0].name, name, len(columns))
                notes.append(sentence("notes.gain_over_first", *names, gain))
        row |= {"n": own.n, "n_positive": int(own.positives.sum())}
        row |= {"split": run.facts.split, "seed": run.metrics.seed}
        rows.append(row | {"protocol": run.described})
    scores = tuple(f"{column}_{name}" for name in sets for column in ("auroc", "gain"))
    heading = f"{areas[0].n:,} bins that all sets have; test {runs[0].facts.split}"
    block = Block(
        "By window",
        sentence("notes.same_bins"),
        ((heading, tuple(rows)),),
        {heading: [*notes, *set_warnings(runs)]},
    )
    return HeadComparison("Context", scores, scores, (block,))


def _gain(own: LabelAreas, first: LabelAreas, columns: NDArray) -> Score:
    return _mean(own.point[0] - first.point[0], own.drawn[0] - first.drawn[0], columns)


def _mean(point_L: NDArray, drawn_LR: NDArray, columns: NDArray) -> Score:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no label is defined: NaN is the answer
        value = np.nanmean(point_L[columns])
        low, high = percentile_interval(np.nanmean(drawn_LR[columns], axis=0))
    return Score(float(value), low, high)
