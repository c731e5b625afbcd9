"""Windows from which genomic negatives are chosen: real bases, away from every start site.

They lie on a grid, so that memory is bounded on any genome and two calls see the same windows.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.repeats import SOFT_MASKED, UNKNOWN, RepeatClasses

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
    """Measure windows of one chromosome, all of them inside it.

    The bases between the first window and the last are read at once.

    Args:
        starts: (k,), rising, 0-based; at least one.
    """
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
    """Find the windows that may be negatives.

    On every chromosome they lie a quarter of a window apart, or further on a genome that would
    have more than `MAX_CANDIDATES`; the seed sets where the first one lies. No base of them is
    nearer to a start site than `window_bp`. Memory is about 30 bytes per window plus 50 MB.

    Args:
        sites: Rising 0-based positions of start sites by the genome's chromosome names.
        max_n_fraction: Windows with a larger share of N are left out.
    """
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
