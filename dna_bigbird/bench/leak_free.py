"""Leaks of a benchmark task: intervals that share bases, and which rows count for the leak-free score."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.kmer import length_scores
from dna_bigbird.bench.suites.suite import PairRows, Suite, Task
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.genome import Interval
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_set import LabelledSet, sequence_hash
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

PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Overlaps:
    """What each of n intervals shares with intervals of another table, on any strand; (n,) each."""

    equal: NDArray[np.bool_]
    """Same chromosome, start and end."""
    shared: NDArray[np.bool_]
    """At least one base."""
    half: NDArray[np.bool_]
    """At least half of both intervals."""
    other_class: NDArray[np.bool_]
    """At least one base with an interval of another class."""


def overlaps(
    asked: Windows, classes: NDArray[np.int64], others: Windows, other_classes: NDArray[np.int64]
) -> Overlaps:
    """Compare intervals of classes (n,) with all of `others`, whose classes are (m,)."""
    masks = [np.zeros(len(asked), dtype=bool) for _ in range(4)]
    start, other_start = _one_axis(asked, others)
    end = start + (asked.end - asked.start)
    other_end = other_start + (others.end - others.start)
    for first, second in _candidates(start, end, other_start, others.window_bp):
        shared = np.minimum(end[first], other_end[second])
        shared -= np.maximum(start[first], other_start[second])
        longest = np.maximum(end[first] - start[first], other_end[second] - other_start[second])
        is_equal = (start[first] == other_start[second]) & (end[first] == other_end[second])
        is_other = classes[first] != other_classes[second]
        tests = (is_equal, shared > 0, 2 * shared >= longest, (shared > 0) & is_other)
        for mask, is_true in zip(masks, tests, strict=True):
            mask[first[is_true]] = True
    return Overlaps(*masks)


def _one_axis(*tables: Windows) -> list[NDArray[np.int64]]:
    """Return the starts of each table with all chromosomes one after the other, a window apart."""
    names = {name: None for table in tables for name in table.chromosomes}
    rank = {name: number for number, name in enumerate(names)}
    reach = max(int(table.end.max(initial=0)) + table.window_bp for table in tables)
    ranks = [np.array([rank[name] for name in x.chromosomes], np.int64)[x.chrom] for x in tables]
    return [number * reach + table.start for number, table in zip(ranks, tables, strict=True)]


def _candidates(
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    other_start: NDArray[np.int64],
    longest_bp: int,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield pairs of rows that may share a base; `longest_bp` is that of the others."""
    order = np.argsort(other_start, kind="stable")
    low = np.searchsorted(other_start[order], start - longest_bp, side="right")
    high = np.searchsorted(other_start[order], end, side="left")
    counts = np.maximum(high - low, 0)
    edges = np.searchsorted(np.cumsum(counts), np.arange(0, counts.sum(), PAIRS_AT_ONCE), "right")
    for part in np.split(np.arange(len(start)), edges[1:]):
        n = counts[part]
        step = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        yield np.repeat(part, n), order[np.repeat(low[part], n) + step]


def repeated(windows: Windows) -> NDArray[np.bool_]:
    """(n,), True for an interval that an earlier one equals in chromosome, start and end."""
    table = np.stack([windows.chrom.astype(np.int64), windows.start, windows.end], axis=1)
    first = np.unique(table, axis=0, return_index=True)[1]
    is_repeated = np.ones(len(table), dtype=bool)
    is_repeated[first] = False
    return is_repeated


def task_leaks(suite: Suite, data: Path, task: Task) -> dict[str, int | float | str]:
    """Return the counts of one task, by column of the table of `bench leakage`."""
    rows = list(suite.intervals(data, task))
    classes = np.unique([row.class_name for row in rows], return_inverse=True)[1]
    windows = Windows.of([row.interval for row in rows])
    is_test = np.array([row.is_test for row in rows])
    train, test = windows[~is_test], windows[is_test]
    labels = np.eye(classes.max() + 1)[classes[~is_test]]
    lengths = windows.end - windows.start
    by_length = length_scores(lengths[~is_test], labels, lengths[is_test]).argmax(axis=1)
    shared = overlaps(test, classes[is_test], train, classes[~is_test])
    return {
        "task": task.name,
        "train": len(train),
        "test": len(test),
        "test_repeats_training": int(shared.equal.sum()),
        "test_overlaps": int(shared.shared.sum()),
        "test_overlaps_half": int(shared.half.sum()),
        "test_overlaps_other_class": int(shared.other_class.sum()),
        "repeated_in_training": int(repeated(train).sum()),
        "accuracy_by_length": round(float((by_length == classes[is_test]).mean()), 4),
        "accuracy_of_majority": round(
            float((labels.mean(axis=0).argmax() == classes[is_test]).mean()), 4
        ),
    }


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
    """Look for test rows that share bases, a near-identical sequence or their group with others."""
    rows = rows_of_set(labelled)
    test = np.flatnonzero(rows.split == SPLITS.index("test"))
    # Each test row is asked; all other rows of the set are what it may share with.
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
    """Find the windows that share a base with what the model has read."""
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
