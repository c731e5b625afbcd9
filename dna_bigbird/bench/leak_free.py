"""Which rows of a benchmark task count for the leak-free score; one rule for labels, variants and pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bench.suites.suite import PairRows
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.genome import Interval
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.sequence_hashes import sequence_hash
from dna_bigbird.labelled.shared_rows import (
    NEAR_IDENTICAL,
    SHARED_BASES,
    SPLIT_PAIR,
    find_leaks,
    rows_of_set,
)
from dna_bigbird.labelled.splits import SPLITS
from dna_bigbird.metrics.task_results import READ_WITH_LABELS, READ_WITHOUT_LABELS
from dna_bigbird.training.seen_rows import SeenRows, compare_with_seen, seen_rows

# Test rows that a training or validation row gives away; `leakage` asks the same of training rows.

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


@dataclass(frozen=True)
class LeakFree:
    """The test rows of a task, and which of them nothing was trained on with labels."""

    test: NDArray[np.int64]
    """(n,), rows of the set, of the variants, or of the pairs."""
    keeps: NDArray[np.bool_]
    """(n,)."""
    counts: dict[str, int]
    """Rows left out by reason, each once, and rows that only pretraining has read, which stay. A count of what
    was read is absent if none is among what can be compared, and not all can be."""
    notes: tuple[str, ...] = ()

    def rows(self, subset: str) -> NDArray[np.int64]:
        """Return the rows of a subset of `metrics.task_results.SUBSETS`."""
        return self.test if subset == "published" else self.test[self.keeps]


def leak_free(labelled: LabelledSet, bundle: Bundle) -> LeakFree:
    """Find the test rows that share something with other rows, or that the model has read."""
    leaks = find_test_leaks(labelled)
    read = seen_rows(bundle, labelled, leaks.rows)
    return _without_read(leaks.rows, ~leaks.any, leaks.counts(), read)


def leak_free_windows(bundle: Bundle, windows: Sequence[Interval], assembly: str) -> LeakFree:
    """Find the windows, such as those around variants, that share a base with what the model has read."""
    number = len(windows)
    read = compare_with_seen(bundle, number, Windows.of(windows), assembly, hashes=None)
    return _without_read(np.arange(number), np.ones(number, dtype=bool), {}, read)


def leak_free_pairs(bundle: Bundle, rows: PairRows) -> LeakFree:
    """Find the pairs whose real sequence the model has read; coordinates count if all pairs have them."""
    number, intervals = len(rows.rows), [row.interval for row in rows.rows if row.interval]
    windows = Windows.of(intervals) if len(intervals) == number else None

    def hashes() -> NDArray[np.uint64]:
        return np.array([sequence_hash(row.sequence) for row in rows.rows], dtype=np.uint64)

    read = compare_with_seen(bundle, number, windows, rows.assembly, hashes)
    return _without_read(np.arange(number), np.ones(number, dtype=bool), {}, read)


def _without_read(
    test: NDArray[np.int64], is_free: NDArray[np.bool_], counts: dict[str, int], read: SeenRows
) -> LeakFree:
    """Return the free rows without those that were read with labels."""
    keeps = is_free & ~read.with_labels
    for name, mask, is_known in (
        (READ_WITH_LABELS, is_free & read.with_labels, read.is_known_of(pretraining=False)),
        (READ_WITHOUT_LABELS, keeps & read.without_labels, read.is_known_of(pretraining=True)),
    ):
        if is_known or mask.any():
            counts[name] = int(mask.sum())
    return LeakFree(test, keeps, counts, tuple(_notes(read)))


def _notes(read: SeenRows) -> Iterator[str]:
    if not read.is_recorded:
        yield "The bundle does not record what it has read: no row is left out as read."
    for record in read.unknown:
        yield (
            f"What was read {record.sentence()} cannot all be compared with the test rows: it is not recorded, on "
            "another assembly, or one of both has no coordinates. Rows that are not recognised stay."
        )
