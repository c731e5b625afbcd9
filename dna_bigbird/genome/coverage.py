"""Arithmetic on sorted intervals of one chromosome, as integer arrays; bedtools is its test oracle.

Everything is 0-based and half-open. A set of intervals is a pair of arrays (starts, ends).
"""

import re

import numpy as np
from numpy.typing import ArrayLike, NDArray

Spans = tuple[NDArray[np.int64], NDArray[np.int64]]


def merge_spans(starts: ArrayLike, ends: ArrayLike) -> Spans:
    """Join intervals that overlap or touch; the result is sorted and disjoint.

    Example:
        >>> [x.tolist() for x in merge_spans([10, 0, 5], [12, 3, 10])]
        [[0, 5], [3, 12]]
    """
    starts = np.asarray(starts, dtype=np.int64)
    ends = np.asarray(ends, dtype=np.int64)
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    is_new = np.append(True, starts[1:] > ends[:-1])
    return starts[is_new], ends[np.append(np.flatnonzero(is_new)[1:] - 1, len(ends) - 1)]


def covered_bp(merged: Spans, starts: ArrayLike, ends: ArrayLike) -> NDArray[np.int64]:
    """Return for every query interval how many of its bases lie in the merged intervals.

    Example:
        >>> covered_bp(merge_spans([0, 20], [10, 30]), [5, 10, 0], [25, 20, 40]).tolist()
        [10, 0, 20]
    """
    span_starts, span_ends = merged
    total = np.append(0, np.cumsum(span_ends - span_starts))

    def before(position: NDArray[np.int64]) -> NDArray[np.int64]:
        """Covered bases left of a position."""
        index = np.searchsorted(span_starts, position, side="right")
        inside = np.append(0, span_ends)[index] - position  # > 0: the last interval goes on
        return total[index] - np.where(index > 0, np.maximum(inside, 0), 0)

    starts = np.asarray(starts, dtype=np.int64)
    ends = np.asarray(ends, dtype=np.int64)
    return before(ends) - before(starts)


def bins_mostly_covered(merged: Spans, bin_bp: int, length_bp: int) -> NDArray[np.int64]:
    """Return the numbers of the bins that the merged intervals cover by more than half.

    Bin `i` is `[i * bin_bp, (i + 1) * bin_bp)`; an incomplete last bin of the chromosome is
    never returned.

    Example:
        >>> bins_mostly_covered(merge_spans([99, 300], [400, 301]), 200, 1000).tolist()
        [0, 1]
        >>> bins_mostly_covered(merge_spans([100], [300]), 200, 1000).tolist()
        []
    """
    starts, ends = merged
    first, last = starts // bin_bp, (ends - 1) // bin_bp
    bins = np.unique(np.concatenate([first, last, _inner(first, last)]))
    bins = bins[(bins + 1) * bin_bp <= length_bp]
    return bins[2 * covered_bp(merged, bins * bin_bp, (bins + 1) * bin_bp) > bin_bp]


def _inner(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every number strictly between `first[i]` and `last[i]`, for all `i`."""
    counts = np.maximum(last - first - 1, 0)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(first + 1, counts) + offsets


def runs_of_n(sequence: str) -> Spans:
    """Return the runs of N in a normalised sequence.

    Example:
        >>> [x.tolist() for x in runs_of_n("NNACNG")]
        [[0, 4], [2, 5]]
    """
    runs = [match.span() for match in re.finditer("N+", sequence)]
    array = np.array(runs, dtype=np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()
