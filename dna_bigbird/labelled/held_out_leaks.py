"""Test rows that a training or validation row gives away; `leakage` asks the same of training rows."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.labelled.labelled import LabelledSet
from dna_bigbird.labelled.shared_rows import (
    NEAR_IDENTICAL,
    SHARED_BASES,
    SPLIT_PAIR,
    find_leaks,
    rows_of_set,
)
from dna_bigbird.labelled.splits import SPLITS

REASONS = {
    SHARED_BASES: "shares_bases",
    NEAR_IDENTICAL: "nearly_identical",
    SPLIT_PAIR: "same_sequence_or_group",
}
"""Category of a leak to its name in results, in the order in which a row is counted."""


@dataclass(frozen=True)
class TestLeaks:
    """Which of n test rows share something with a training or validation row."""

    rows: NDArray[np.int64]
    """(n,), rows of the set, rising."""
    reasons: dict[str, NDArray[np.bool_]]
    """By reason of `REASONS`: (n,); a row may have several."""

    @property
    def any(self) -> NDArray[np.bool_]:
        """Rows with any reason, (n,)."""
        return np.any(list(self.reasons.values()), axis=0)

    def counts(self) -> dict[str, int]:
        """Return the rows by their first reason."""
        counts, left = {}, np.ones(len(self.rows), dtype=bool)
        for name, mask in self.reasons.items():
            counts[name] = int((mask & left).sum())
            left &= ~mask
        return counts


def find_test_leaks(labelled: LabelledSet) -> TestLeaks:
    """Look for test rows that share bases, a near-identical sequence, or their group with other rows.

    The definitions are those of `leakage.find_leaks`; here each test row is asked, and all other rows of
    the set are what it may share with.
    """
    rows = rows_of_set(labelled)
    test = np.flatnonzero(rows.split == SPLITS.index("test"))
    asked = replace(rows, split=np.where(rows.split == SPLITS.index("test"), 0, 1))
    masks = {name: np.zeros(len(rows.split), dtype=bool) for name in REASONS.values()}
    for leak in find_leaks(asked).leaks:
        masks[REASONS[leak.category]][leak.row] = True
    return TestLeaks(test, {name: mask[test] for name, mask in masks.items()})
