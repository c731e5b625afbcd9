"""Scores of variants that need no network: GC content, counts of the genome's own sequence, random order."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.base_two_sided import BaseMixtureTwoSided
from dna_bigbird.bench.suites.suite import VariantRow
from dna_bigbird.evaluation.variant_baselines import CONTEXT_BP, counted_ratios
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import merge_spans
from dna_bigbird.genome.variants import Variant

COUNTED_BP = 4_000_000
"""Bases of the genome that are counted at most."""
PIECE_BP = 20_000
"""Length of the pieces that are counted, evenly spaced over a longer genome."""
LEAST_COUNTED_BP = 2000
"""Counts of less are not a baseline."""


def gc_content(
    variants: Sequence[VariantRow], genome: Genome, window_bp: int
) -> NDArray[np.float64]:
    """Return the share of G and C among the known bases of the reference window, (N,)."""
    shares = []
    for variant in variants:
        start = variant.pos - 1 - window_bp // 2
        bases = genome.fetch(Interval(variant.chrom, start, start + window_bp))
        known = len(bases) - bases.count("N")
        shares.append((bases.count("G") + bases.count("C")) / known)
    return np.array(shares)


def counted_intervals(variants: Sequence[VariantRow], genome: Genome) -> list[Interval]:
    """Return what is counted: pieces of all chromosomes without the surroundings of the variants.

    No context of a variant has its own base, or the counts would know REF.
    """
    total = sum(genome.lengths.values())
    share = min(1.0, COUNTED_BP / total)
    intervals = []
    for chrom, length in genome.lengths.items():
        number = max(1, math.ceil(length * share / PIECE_BP))
        size = length if share == 1 else min(PIECE_BP, length)
        starts = [round(i * length / number) for i in range(1 if share == 1 else number)]
        positions = np.array([v.pos - 1 for v in variants if v.chrom == chrom], dtype=np.int64)
        cut = merge_spans(positions - CONTEXT_BP, positions + CONTEXT_BP + 1)
        for start in starts:
            intervals += _without(chrom, start, min(length, start + size), *cut)
    return intervals


def _without(
    chrom: str, start: int, end: int, cut_starts: NDArray, cut_ends: NDArray
) -> list[Interval]:
    """Return what is left of a piece without sorted spans."""
    left = []
    for cut_start, cut_end in zip(cut_starts.tolist(), cut_ends.tolist(), strict=True):
        if cut_end <= start or cut_start >= end:
            continue
        if cut_start > start:
            left.append(Interval(chrom, start, cut_start))
        start = cut_end
    return [*left, Interval(chrom, start, end)] if start < end else left


def counting_ratios(variants: Sequence[VariantRow], genome: Genome) -> NDArray[np.float64] | None:
    """Return log p(ALT) - log p(REF) by a mixture of counts, (N,).

    None if the genome has too little sequence apart from the variants.
    """
    intervals = counted_intervals(variants, genome)
    if sum(interval.length for interval in intervals) < LEAST_COUNTED_BP:
        return None
    mixture = BaseMixtureTwoSided().fit_sequences([genome.fetch(each) for each in intervals])
    records = [Variant(v.chrom, v.pos, ".", v.ref, (v.alt,), 0) for v in variants]
    return counted_ratios(records, genome, mixture)[:, 0]


def random_scores(number: int, seeds: Sequence[int]) -> NDArray[np.float64]:
    """Return scores that know nothing, (seeds, N)."""
    return np.stack([np.random.default_rng([seed, number]).random(number) for seed in seeds])
