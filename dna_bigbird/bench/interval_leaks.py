"""Steps of `bench leakage`: the intervals of one task, compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.kmer import length_scores
from dna_bigbird.bench.suites.suite import Suite, Task
from dna_bigbird.genome.windows import Windows

# Which intervals of one table share bases with intervals of another; needs no sequence.

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
    """Compare every interval of `asked` with all of `others`.

    Args:
        classes, other_classes: (n,) and (m,), the class of each interval.
    """
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
    """Yield pairs of rows that may share a base: the others begin before an end, and not too early.

    Args:
        longest_bp: Of the others.
    """
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
