"""Genomic negatives: for each promoter a real window of the same composition without a start site."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.repeats import SOFT_MASKED, UNKNOWN, RepeatClasses
from dna_bigbird.labelled.splits import SPLITS, TEST, TRAIN, SplitConfig

# They lie on a grid, so that memory is bounded on any genome and two calls see the same windows.

MAX_CANDIDATES = 2_000_000
STEPS_A_WINDOW = 4
CHUNK_BP = 4_000_000
_IS_GC = np.zeros(256, dtype=bool)
_IS_GC[list(b"GCgc")] = True


@dataclass(frozen=True)
class Composition:
    """What k windows are made of; each (k,), float32."""

    n: NDArray[np.float32]
    """Share of N."""
    gc: NDArray[np.float32]
    """Share of G and C among the bases that are not N."""
    repeat: NDArray[np.float32]
    """Share of soft-masked bases among them; NaN on a chromosome written in one case."""


def composition(
    genome: Genome, repeats: RepeatClasses, chrom: str, starts: NDArray[np.int64], window_bp: int
) -> Composition:
    """Measure windows of one chromosome, all inside it; their rising starts are 0-based."""
    region = Interval(chrom, int(starts[0]), int(starts[-1]) + window_bp)
    is_known = ~np.frombuffer(genome.unknown_bases(region), dtype=bool)
    is_gc = _IS_GC[np.frombuffer(genome.letters(region), dtype=np.uint8)]
    classes = repeats.classes(region)

    def in_windows(is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
        before = np.zeros(len(is_counted) + 1, dtype=np.int32)
        np.cumsum(is_counted, out=before[1:])
        first = starts - starts[0]
        return before[first + window_bp] - before[first]

    known = in_windows(is_known)
    divisor = np.maximum(known, 1)
    masked = in_windows(is_known & (classes == SOFT_MASKED)) / divisor
    return Composition(
        n=(1 - known / window_bp).astype(np.float32),
        gc=(in_windows(is_gc) / divisor).astype(np.float32),
        repeat=np.where(classes[0] == UNKNOWN, np.nan, masked).astype(np.float32),
    )


@dataclass(frozen=True)
class Candidates:
    """k windows in the genome's order; `chrom` is a place in `chroms`."""

    chroms: list[str]
    chrom: NDArray[np.int32]
    start: NDArray[np.int64]
    gc: NDArray[np.float32]
    repeat: NDArray[np.float32]


def candidate_windows(
    genome: Genome,
    repeats: RepeatClasses,
    sites: Mapping[str, NDArray[np.int64]],
    window_bp: int,
    *,
    max_n_fraction: float,
    seed: int,
) -> Candidates:
    """Find windows for negatives: no base of them is nearer to a site than `window_bp`."""
    # They lie a quarter of a window apart, or further where there would be more than
    # `MAX_CANDIDATES`; memory is about 30 bytes per window plus 50 MB.
    step = max(1, window_bp // STEPS_A_WINDOW, sum(genome.lengths.values()) // MAX_CANDIDATES)
    chroms = list(genome.lengths)
    parts = [(np.empty(0, np.int32), np.empty(0, np.int64), *[np.empty(0, np.float32)] * 2)]
    for number, chrom in enumerate(chroms):
        starts = _grid(chrom, genome.lengths[chrom] - window_bp + 1, step, seed)
        starts = starts[_is_away(starts, sites.get(chrom), window_bp)]
        for piece in np.split(starts, np.flatnonzero(np.diff(starts // CHUNK_BP)) + 1):
            if len(piece):
                measured = composition(genome, repeats, chrom, piece, window_bp)
                kept = measured.n <= max_n_fraction
                where = np.full(int(kept.sum()), number, dtype=np.int32)
                parts.append((where, piece[kept], measured.gc[kept], measured.repeat[kept]))
    return Candidates(chroms, *(np.concatenate(x) for x in zip(*parts, strict=True)))


def _grid(chrom: str, room: int, step: int, seed: int) -> NDArray[np.int64]:
    """Starts of windows, `step` apart, on a chromosome with `room` places for one."""
    if room < 1:
        return np.empty(0, dtype=np.int64)
    first = np.random.default_rng([seed, zlib.crc32(chrom.encode())]).integers(min(step, room))
    return np.arange(first, room, step, dtype=np.int64)


def _is_away(
    starts: NDArray[np.int64], sites: NDArray[np.int64] | None, window_bp: int
) -> NDArray[np.bool_]:
    """Whether no site lies in a window or less than `window_bp` from its first or last base."""
    if sites is None:
        return np.ones(len(starts), dtype=bool)
    first = np.searchsorted(sites, starts - window_bp, side="right")
    last = np.searchsorted(sites, starts + 2 * window_bp - 1, side="left")
    return first == last


GC_TOLERANCE = 0.01
REPEAT_TOLERANCE = 0.05
_REPEATS_UNKNOWN = 1e6
"""Stands for the difference to a window of unknown repeats: chosen when there is nothing else."""


@dataclass(frozen=True)
class Matched:
    """Negatives in the order of their positives, and how well they fit."""

    intervals: list[Interval]
    counts: dict[str, float]


def match_negatives(
    genome: Genome,
    positives: Sequence[Interval],
    splits: NDArray[np.integer],
    sites: Iterable[Interval],
    split: SplitConfig,
    *,
    is_matched: NDArray[np.bool_] | None = None,
    max_n_fraction: float,
    unread: SplitConfig | None = None,
    seed: int,
) -> Matched:
    """Choose one window for each positive, all of them disjoint."""
    # A positive takes a window within `GC_TOLERANCE` and `REPEAT_TOLERANCE` of its own shares, else
    # the nearest one. Which one, and its strand, depends on the seed, the place of the positive and
    # the order of chromosomes; other sites matter only where they rule windows out or take them.
    # Where either side's repeats are unknown, GC alone is matched. With regions a negative is of
    # the split of its positive; with folds from anywhere, or as `unread` says: its test regions are
    # those of the negatives of validation and test, all else is for training.
    window_bp = positives[0].length
    repeats = RepeatClasses.from_soft_mask(genome)
    candidates = candidate_windows(
        genome, repeats, _by_chrom(sites), window_bp, max_n_fraction=max_n_fraction, seed=seed
    )
    pool_of, where = _pools_of(splits, split, unread)
    candidate_split = _splits_of(candidates, where, window_bp)
    pools = {
        number: _Pool(candidates, np.flatnonzero(candidate_split == number), window_bp)
        for number in np.unique(pool_of).tolist()
    }
    intervals, gaps = [], []
    matched = [True] * len(positives) if is_matched is None else is_matched.tolist()
    for number, positive, to_match in zip(pool_of.tolist(), positives, matched, strict=True):
        own = composition(genome, repeats, positive.chrom, np.array([positive.start]), window_bp)
        key = zlib.crc32(f"{positive.chrom}:{positive.start}:{positive.strand}".encode())
        rng = np.random.default_rng([seed, key])
        pool = pools[number]
        index = pool.take(own.gc[0], own.repeat[0], rng) if to_match else pool.take_any(rng)
        if index is None:
            num_matched = int((pool_of[: len(intervals)] == number).sum())
            location = _pool_name(number, split, unread)
            raise _too_few(int((pool_of == number).sum()), location, window_bp, num_matched)
        chrom, start = candidates.chroms[candidates.chrom[index]], int(candidates.start[index])
        intervals.append(Interval(chrom, start, start + window_bp, "+-"[int(rng.integers(2))]))
        if to_match:
            gc, repeat = candidates.gc[index], candidates.repeat[index]
            gaps.append((own.gc[0] - gc, own.repeat[0] - repeat))
    return Matched(intervals, _gap_counts(np.abs(gaps), len(candidates.start)) if gaps else {})


def _pools_of(
    splits: NDArray[np.integer], split: SplitConfig, unread: SplitConfig | None
) -> tuple[NDArray[np.integer], SplitConfig]:
    """Return the pool of each positive, and the regions whose split is the pool of a candidate."""
    if not split.folds:
        return splits, split
    if unread is None:
        return np.full(len(splits), TRAIN), SplitConfig()
    return np.where(splits == TRAIN, TRAIN, TEST), unread


def _pool_name(number: int, split: SplitConfig, unread: SplitConfig | None) -> str:
    if not split.folds:
        return f" in the {SPLITS[number]} split"
    if unread is None:
        return ""
    return f" {'outside of' if number == TRAIN else 'in'} {', '.join(map(str, unread.test))}"


def _too_few(needed: int, where: str, window_bp: int, num_matched: int) -> InputError:
    return InputError(
        f"--negatives genomic: {needed} promoters{where} need as many windows of {window_bp:,} bp, "
        f"each {window_bp:,} bp or more from every start site; only {num_matched} could be given one. "
        "Take a shorter window, more of the genome, or other negatives"
    )


def _by_chrom(sites: Iterable[Interval]) -> dict[str, NDArray[np.int64]]:
    starts: dict[str, list[int]] = {}
    for site in sites:
        starts.setdefault(site.chrom, []).append(site.start)
    return {chrom: np.unique(np.array(x, dtype=np.int64)) for chrom, x in starts.items()}


def _splits_of(candidates: Candidates, split: SplitConfig, window_bp: int) -> NDArray[np.int8]:
    result = np.full(len(candidates.start), TRAIN, dtype=np.int8)
    for number in np.unique(candidates.chrom).tolist():
        rows = np.flatnonzero(candidates.chrom == number)
        starts = candidates.start[rows]
        result[rows] = split.splits_of(candidates.chroms[number], starts, starts + window_bp)
    return result


def _gap_counts(gaps: NDArray[np.float64], candidates: int) -> dict[str, float]:
    gc, repeat = gaps.T
    is_known = np.isfinite(repeat)
    is_near = (gc <= GC_TOLERANCE) & ~(repeat > REPEAT_TOLERANCE)
    return {
        "negatives_candidate_windows": candidates,
        "negatives_matched_for_gc_alone": int((~is_known).sum()),
        "negatives_outside_tolerance": int((~is_near).sum()),
        "negatives_mean_gc_difference": round(float(gc.mean()), 4),
        "negatives_mean_repeat_difference": round(float(repeat[is_known].mean()), 4)
        if is_known.any()
        else 0,
    }


class _Pool:
    """The windows of one split, by GC; each can be taken once, and none that overlaps a taken one."""

    def __init__(self, candidates: Candidates, rows: NDArray[np.int64], window_bp: int) -> None:
        self._candidates = candidates
        self._window_bp = window_bp
        self._rows = rows[np.argsort(candidates.gc[rows], kind="stable")]
        self._gc = candidates.gc[self._rows]
        self._is_free = np.ones(len(candidates.start), dtype=bool)

    def take(self, gc: float, repeat: float, rng: np.random.Generator) -> int | None:
        """Take a window and return its place among all candidates; None if none is free."""
        salt = rng.integers(1 << 63, dtype=np.uint64)
        reach = 1.0
        while True:
            first = np.searchsorted(self._gc, gc - reach * GC_TOLERANCE, side="left")
            last = np.searchsorted(self._gc, gc + reach * GC_TOLERANCE, side="right")
            rows = self._rows[first:last]
            rows = rows[self._is_free[rows]]
            distance = self._distance(rows, gc, repeat)
            if reach == 1 and (distance <= 1).any():
                near = rows[distance <= 1]
                return self._mark(near[np.argmin(self._lots(near, salt))])
            if len(rows) and distance.min() <= reach:
                return self._mark(rows[np.argmin(distance)])
            if last - first == len(self._rows):
                return self._mark(rows[np.argmin(distance)]) if len(rows) else None
            reach *= 2

    def take_any(self, rng: np.random.Generator) -> int | None:
        """Take a window of any composition and return its place among all candidates; None if none is free."""
        salt = rng.integers(1 << 63, dtype=np.uint64)
        rows = self._rows[self._is_free[self._rows]]
        return self._mark(rows[np.argmin(self._lots(rows, salt))]) if len(rows) else None

    def _distance(self, rows: NDArray[np.int64], gc: float, repeat: float) -> NDArray[np.float64]:
        """The larger of both differences, in tolerances."""
        of_gc = np.abs(self._candidates.gc[rows] - gc) / GC_TOLERANCE
        if np.isnan(repeat):
            return of_gc
        of_repeat = np.abs(self._candidates.repeat[rows] - repeat) / REPEAT_TOLERANCE
        return np.maximum(of_gc, np.nan_to_num(of_repeat, nan=_REPEATS_UNKNOWN))

    def _lots(self, rows: NDArray[np.int64], salt: np.uint64) -> NDArray[np.uint64]:
        """A random number for each window that does not depend on which others there are."""
        positions = self._candidates.start[rows].astype(np.uint64) << np.uint64(20)
        mixed = (positions ^ self._candidates.chrom[rows].astype(np.uint64) ^ salt) * np.uint64(
            0x9E3779B97F4A7C15
        )
        return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)

    def _mark(self, row: np.int64) -> int:
        """Mark a window and all that overlap it, its neighbours, as used."""
        candidates, row = self._candidates, int(row)
        self._is_free[row] = False
        for step in (-1, 1):
            other = row + step
            while (
                0 <= other < len(candidates.start)
                and candidates.chrom[other] == candidates.chrom[row]
                and abs(int(candidates.start[other] - candidates.start[row])) < self._window_bp
            ):
                self._is_free[other] = False
                other += step
        return row
