"""Blocks of the genome; a bootstrap draws all rows of a block together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.labelled.labelled_set import LabelledSet

SIZES_BP = (1_000_000, 500_000, 200_000, 100_000, 50_000, 20_000, 10_000)
FEWEST = 20
"""Blocks that a bootstrap should have: of fewer the intervals are too narrow and leap about."""


def block_units(
    labelled: LabelledSet, rows: Sequence[int] | NDArray[np.int64], block_bp: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Return the block of each row, (n,), and the length of a block in bp (0: no coordinates)."""
    # Neighbouring windows share bases and the state of their chromatin: rows of one block are not
    # independent evidence. A row lies where the middle of its window does; a negative goes with its
    # positive. With 0 the block is the longest of `SIZES_BP` that gives at least `FEWEST` blocks.
    if not labelled.has_coordinates:
        return labelled.pairs[np.asarray(rows, dtype=np.int64)], 0
    windows = labelled.intervals[_leaders(labelled, np.asarray(rows, dtype=np.int64))]
    if block_bp:
        return windows.stretches(block_bp), block_bp
    for size in [x for x in SIZES_BP if x >= labelled.window_bp] or [labelled.window_bp]:
        units = windows.stretches(size)
        if len(np.unique(units)) >= FEWEST:
            break
    return units, size


def _leaders(labelled: LabelledSet, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the row that says where it lies: the positive of its pair, or itself."""
    # Rows of one window count as a pair where a set names none; they lie at one place anyway.
    pairs = labelled.pairs[rows]
    has_positive = (labelled.labels_of(rows) != 0).any(axis=1)
    order = np.lexsort((~has_positive, pairs))
    first = np.unique(pairs[order], return_index=True)[1]
    of_pair = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return rows[order[first][of_pair]]
