"""Scores of several models on the bins that all their labelled sets contain."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.blocks import block_units
from dna_bigbird.labelled.labelled import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.label_areas import LabelAreas, label_areas


def areas_on_same_bins(
    data: Sequence[Path], scores: Sequence[Path], *, seed: int, replicates: int
) -> tuple[list[LabelAreas], list[str]]:
    """Score every model on the test bins that all sets have, under the same draws.

    Args:
        data, scores: Of each model its labelled set and its scores.h5.

    Returns:
        The areas of each model, and the names of the labels.

    Raises:
        InputError: If labels differ, or no bin is in the test split of all sets.
    """
    sets = [LabelledSet(path) for path in data]
    for path, other in zip(data, sets, strict=True):
        if other.label_names != sets[0].label_names or other.bin_starts is None:
            raise InputError(
                f"{path}: its labels are not those of {data[0]}; only windows may differ"
            )
    row_of = [bins_of(x) for x in sets]
    common = sorted(set.intersection(*(set(x) for x in row_of)))
    if not common:
        raise InputError(f"{data[0]}: no test bin that all {len(data)} sets have")
    rows = [np.array([row_of_bin[bin_] for bin_ in common]) for row_of_bin in row_of]
    labels = sets[0].labels_of(rows[0])
    for path, other, here in zip(data, sets, rows, strict=True):
        if (other.labels_of(here) != labels).any():
            raise InputError(f"{path}: labels of the same bins are not those of {data[0]}")
    widest = max(range(len(sets)), key=lambda i: sets[i].window_bp)
    units, _ = block_units(sets[widest], rows[widest])
    draws = draw_units(len(common), replicates=replicates, seed=seed, units=units)
    areas = [
        label_areas(labels, read_scores(path).of(here), draws)
        for path, here in zip(scores, rows, strict=True)
    ]
    return areas, sets[0].label_names


def bins_of(labelled: LabelledSet) -> dict[tuple[str, int], int]:
    """Return the row of every test bin by chromosome and first base."""
    rows = labelled.rows("test")
    starts = labelled.bin_starts[rows]
    return {
        (labelled.interval(int(row)).chrom, int(start)): int(row)
        for row, start in zip(rows, starts, strict=True)
    }
