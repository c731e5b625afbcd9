"""Splits by genome region or by groups of rows: no two splits share a base.

What each rule promises is in docs/explanation/splits-and-leakage.md.
"""

import heapq
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import Doc
from dna_bigbird.corpus.regions import read_region
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.coverage import Spans, covered_bp, merge_spans
from dna_bigbird.genome.interval import parse_region
from dna_bigbird.genome.windows import Windows


def group_windows(intervals: Sequence[Interval], keys: Sequence[str] = ()) -> NDArray[np.int64]:
    """Number the groups of rows that must stay in one split: a shared base, or the same key, (n,).

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


def _stretches(intervals: Sequence[Interval]) -> NDArray[np.int64]:
    """Number the stretches of windows that overlap one after the other; touching does not count."""
    windows = Windows.of(intervals)
    chrom, start = windows.chrom.astype(np.int64), windows.start.astype(np.int64)
    end = windows.end.astype(np.int64)
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
    """Deal whole groups to folds of about equally many rows; equal strata are dealt evenly.

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


SPLITS = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
STRADDLING = -1
_TO_THE_END = 1 << 40


@dataclass(frozen=True)
class SplitConfig:
    """What is held out: regions, or one fold of several; everything else is for training."""

    validation: list[str | int] = field(default_factory=list)
    """Validation data: regions such as `chr22:19,000,001-20,000,000` (from 1, both ends included) or whole
    chromosomes such as `chr7`."""
    test: list[str | int] = field(default_factory=list)
    """Test data: regions likewise; no base may be in both."""
    folds: Count = 0
    """Number of folds to which rows are dealt instead: 3 or more; overlapping windows and rows of one gene
    stay together."""
    fold: Count = 0
    """Fold for the test: from 0, with `folds`; the next one is for validation."""
    seed: int = 0
    """Seed of the random numbers: with `folds`, which rows go to which fold."""

    def __post_init__(self) -> None:
        check_fields(self, "split")
        if self.folds:
            self._check_folds()
        elif self.fold or self.seed:
            raise ValueError("split: fold and seed have a meaning with folds only: --split.folds 5")
        for chrom, test in self._spans(self.test).items():
            validation = self._spans(self.validation).get(chrom)
            if validation and covered_bp(test, *validation).any():
                raise ValueError(
                    f"split: the validation and test regions on chromosome {chrom} overlap"
                )

    def _check_folds(self) -> None:
        if self.folds < 3:
            raise ValueError(
                f"split: folds is {self.folds}; expected 3 or more, one each for test, validation "
                "and training, or 0 for regions"
            )
        if self.fold >= self.folds:
            raise ValueError(
                f"split: fold is {self.fold}; expected 0 to {self.folds - 1}, there are {self.folds} folds"
            )
        if self.validation or self.test:
            raise ValueError(
                "split: folds and regions exclude each other; leave validation and test empty"
            )

    @staticmethod
    def _spans(regions: list[str | int]) -> dict[str, Spans]:
        """Merged regions by usual name of the chromosome."""
        by_chrom: dict[str, list[Interval]] = {}
        for text in map(str, regions):
            region = parse_region(text) if ":" in text else Interval(text, 0, _TO_THE_END)
            by_chrom.setdefault(usual_name(region.chrom), []).append(region)
        return {
            chrom: merge_spans([r.start for r in items], [r.end for r in items])
            for chrom, items in by_chrom.items()
        }

    @cached_property
    def _held_out(self) -> tuple[tuple[int, dict[str, Spans]], ...]:
        return (VALIDATION, self._spans(self.validation)), (TEST, self._spans(self.test))

    def check_regions(self, genome: Genome, *, pieces: bool = False) -> None:
        """Raise InputError for regions not in the genome; `pieces` lets one end after it."""
        for text in map(str, [*self.validation, *self.test]):
            try:
                read_region(text.rpartition(":")[0] or text if pieces else text, genome)
            except InputError as error:
                raise InputError(f"split: {error}") from None

    def as_options(self) -> str:
        """Return the command-line options that give these settings."""
        if self.folds:
            return f"--split.folds {self.folds} --split.fold {self.fold} --split.seed {self.seed}"
        lists = {"validation": self.validation, "test": self.test}
        return " ".join(
            f"--split.{key} {shlex.quote(json.dumps(value))}" for key, value in lists.items()
        )

    def split_of_rows(
        self, intervals: Sequence[Interval], keys: Sequence[str] = ()
    ) -> NDArray[np.int8]:
        """Return the split of every row, 0 to 2, or -1 for a row that is in none, (n,)."""
        # With regions a window is where its bases are, and -1 across a border; if rows of one key
        # are then in several splits, the test keeps its rows, then validation, and the others are
        # -1: what is measured does not depend on what there is to train on.
        if self.folds:
            return self.split_of_groups(group_windows(intervals, keys))
        windows = Windows.of(intervals)
        result = np.empty(len(intervals), dtype=np.int8)
        for number, name in enumerate(windows.chromosomes):
            rows = np.flatnonzero(windows.chrom == number)
            result[rows] = self.splits_of(name, windows.start[rows], windows.end[rows])
        most_held_out: dict[str, int] = {}
        for key, split in zip(keys, result.tolist(), strict=bool(keys)):
            most_held_out[key] = max(split, most_held_out.get(key, STRADDLING))
        for row, key in enumerate(keys):
            if key and result[row] < most_held_out[key]:
                result[row] = STRADDLING
        return result

    def split_of_groups(
        self, groups: ArrayLike, strata: ArrayLike | None = None
    ) -> NDArray[np.int8]:
        """Return the split of every row from the folds to which groups are dealt (`folds_of`)."""
        try:
            fold = folds_of(groups, self.folds, self.seed, strata=strata)
        except ValueError as error:
            raise InputError(f"split: {error}; use fewer folds, or regions") from None
        result = np.full(len(fold), TRAIN, dtype=np.int8)
        result[fold == (self.fold + 1) % self.folds] = VALIDATION
        result[fold == self.fold] = TEST
        return result

    def split_of(self, interval: Interval) -> int:
        """Return 0 (train), 1 (validation), 2 (test), or -1 for a window across a border."""
        return int(self.splits_of(interval.chrom, [interval.start], [interval.end])[0])

    def splits_of(self, chrom: str, starts: ArrayLike, ends: ArrayLike) -> NDArray[np.int8]:
        """Return the split of many windows of one chromosome; see `split_of`."""
        # Bases left of the chromosome's first one are not counted.
        if self.folds:
            raise ValueError("folds are dealt to all rows at once; call split_of_rows")
        starts = np.maximum(0, np.asarray(starts, dtype=np.int64))
        ends = np.asarray(ends, dtype=np.int64)
        result = np.full(len(starts), TRAIN, dtype=np.int8)
        for split, spans in self._held_out:
            if usual_name(chrom) in spans:
                shared = covered_bp(spans[usual_name(chrom)], starts, ends)
                result[shared > 0] = STRADDLING
                result[shared == ends - starts] = split
        return result


HeldOutRegions = Annotated[SplitConfig, Doc("Regions held out for validation and test.")]
