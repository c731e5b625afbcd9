"""Rows that must stay in one split, and folds that keep them together."""

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.genome import Interval
from dna_bigbird.genome.windows import Windows


def group_windows(intervals: Sequence[Interval], keys: Sequence[str] = ()) -> NDArray[np.int64]:
    """Number the groups of rows that must stay in one split.

    Two rows belong to one group if their windows share a base, on any strand, or if they
    have the same key that is not empty; and so is all that hangs together through others.

    Args:
        intervals: The window of each row, 0-based and half-open.
        keys: A text for each row, such as its gene; none at all is as good as empty ones.

    Returns:
        (n,), numbers from 0 in the order in which the groups first occur.

    Raises:
        ValueError: If there are keys for another number of rows.

    Example:
        >>> windows = [Interval("chr1", s, s + 10) for s in (0, 50, 9, 100)]
        >>> group_windows(windows).tolist()
        [0, 1, 0, 2]
        >>> group_windows(windows, ["A", "", "", "A"]).tolist()
        [0, 1, 0, 0]
    """
    if keys and len(keys) != len(intervals):
        raise ValueError(f"{len(keys)} keys for {len(intervals)} windows")
    if not len(intervals):
        return np.empty(0, dtype=np.int64)
    stretch = _stretches(intervals)
    keyed = np.array([i for i, key in enumerate(keys) if key], dtype=np.int64)
    _, key = np.unique([keys[i] for i in keyed], return_inverse=True)
    # Stretches and keys are the nodes of a graph; a row with a key joins its two.
    nodes = int(stretch.max()) + 1 + len(keyed)
    edges = (np.ones(len(keyed)), (stretch[keyed], stretch.max() + 1 + key.reshape(-1)))
    # Help texts read settings of splits and must not wait for scipy.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)
    return _in_order_of_occurrence(component[stretch])


def arrays_of(
    intervals: Sequence[Interval],
) -> tuple[Sequence[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the chromosomes' names and, (n,) each: place in the names, start, end.

    Fast for `Windows`, which may be millions.
    """
    if isinstance(intervals, Windows):
        start = intervals.start.astype(np.int64)
        chrom = intervals.chrom.astype(np.int64)
        return intervals.chromosomes, chrom, start, intervals.end.astype(np.int64)
    ranks: dict[str, int] = {}
    chrom = np.array([ranks.setdefault(x.chrom, len(ranks)) for x in intervals], dtype=np.int64)
    start = np.array([x.start for x in intervals], dtype=np.int64)
    end = np.array([x.end for x in intervals], dtype=np.int64)
    return list(ranks), chrom, start, end


def _stretches(intervals: Sequence[Interval]) -> NDArray[np.int64]:
    """Number the stretches of windows that overlap one after the other; touching does not count."""
    _, chrom, start, end = arrays_of(intervals)
    # Chromosomes follow each other on one axis, so that one running maximum serves them all.
    offset = chrom * (end.max() - min(0, start.min()) + 1)
    start, end = start + offset, end + offset
    order = np.argsort(start, kind="stable")
    reached = np.maximum.accumulate(end[order])
    is_new = np.append(True, start[order][1:] >= reached[:-1])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return numbers


def _in_order_of_occurrence(numbers: NDArray) -> NDArray[np.int64]:
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def folds_of(
    groups: ArrayLike,
    folds: int,
    seed: int,
    *,
    shares: Sequence[float] | None = None,
    strata: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Deal whole groups to folds of about equally many rows.

    The largest group comes first and goes to the fold with the fewest rows; the seed decides
    between groups of one size.

    Args:
        groups: (n,), the group of each row.
        shares: Share of the rows for each fold; all the same by default.
        strata: (n,), numbers such as those of classes: groups of one size and stratum are dealt one
            after the other, so every fold gets its share of them.

    Returns:
        (n,), the fold of each row, from 0.

    Raises:
        ValueError: If there are fewer groups than folds.

    Example:
        >>> np.bincount(folds_of([0, 0, 0, 1, 1, 2, 3], folds=3, seed=0)).tolist()
        [3, 2, 2]
        >>> np.bincount(folds_of(range(10), folds=3, seed=0, shares=[0.8, 0.1, 0.1])).tolist()
        [8, 1, 1]
    """
    _, first, inverse, sizes = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    if len(sizes) < folds:
        raise ValueError(
            f"the rows hang together in {len(sizes)} group{'s' * (len(sizes) != 1)}, too few for {folds} folds"
        )
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    stratum = np.zeros(len(sizes)) if strata is None else np.asarray(strata)[first]
    order = shuffled[np.lexsort((stratum[shuffled], -sizes[shuffled]))]
    weights = [1.0] * folds if shares is None else list(shares)
    heap = [(0.0, fold) for fold in range(folds)]
    fold_of = np.empty(len(sizes), dtype=np.int64)
    for group in order.tolist():
        rows, fold = heapq.heappop(heap)
        fold_of[group] = fold
        heapq.heappush(heap, (rows + int(sizes[group]) / weights[fold], fold))
    return fold_of[inverse.reshape(-1)]
