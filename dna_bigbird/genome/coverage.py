"""Arithmetic on sorted intervals of one chromosome, as integer arrays; bedtools is its test oracle.

Everything is 0-based and half-open. A set of intervals is a pair of arrays (starts, ends).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval

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
    """Return the numbers of the whole bins that the merged intervals cover by more than half.

    Example:
        >>> bins_mostly_covered(merge_spans([99, 300], [400, 301]), 200, 1000).tolist()
        [0, 1]
        >>> bins_mostly_covered(merge_spans([100], [300]), 200, 1000).tolist()
        []
    """
    bins = np.unique(bins_touched(merged, bin_bp))
    bins = bins[(bins + 1) * bin_bp <= length_bp]
    return bins[2 * covered_bp(merged, bins * bin_bp, (bins + 1) * bin_bp) > bin_bp]


def bins_touched(merged: Spans, bin_bp: int) -> NDArray[np.int64]:
    """Return, unordered and with repeats, the bins that share a base with the merged intervals.

    Example:
        >>> sorted(set(bins_touched(merge_spans([99, 300], [200, 401]), 200).tolist()))
        [0, 1, 2]
    """
    starts, ends = merged
    if not len(starts):
        return np.empty(0, dtype=np.int64)
    first, last = starts // bin_bp, (ends - 1) // bin_bp
    return np.concatenate([first, last, _inner(first, last)])


def _inner(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every number strictly between `first[i]` and `last[i]`, for all `i`."""
    counts = np.maximum(last - first - 1, 0)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(first + 1, counts) + offsets


def unknown_spans(
    genome: Genome,
    chrom: str,
    first: int = 0,
    last: int | None = None,
    *,
    at_once_bp: int = 1 << 24,
) -> Spans:
    """Return the runs of N of a chromosome in [first, last), read in pieces of `at_once_bp`."""
    nothing = np.empty(0, dtype=np.int64)
    parts: list[Spans] = [(nothing, nothing)]
    last = genome.lengths[genome.resolve(chrom)] if last is None else last
    for start in range(first, last, at_once_bp):
        flags = genome.unknown_bases(Interval(chrom, start, min(last, start + at_once_bp)))
        if 1 not in flags:  # the usual case, and much faster
            continue
        is_n = np.frombuffer(b"\0" + flags + b"\0", dtype=np.int8)
        edges = np.flatnonzero(np.diff(is_n)) + start
        parts.append((edges[0::2], edges[1::2]))
    starts, ends = zip(*parts, strict=True)
    return merge_spans(np.concatenate(starts), np.concatenate(ends))
