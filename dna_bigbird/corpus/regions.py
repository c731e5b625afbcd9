"""Which stretches of the genome documents may come from.

Regions are given as text (`chr1`, `chr22:1-20,000,000`), merged, freed of what is excluded and
cut at assembly gaps. Everything inside is 0-based and half-open.
"""

from collections.abc import Iterable, Sequence

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import unknown_spans
from dna_bigbird.genome.interval import parse_region

SCAN_BP = 1 << 16
"""Bases held in memory at a time while looking for gaps; few enough for a processor's cache."""


def read_region(text: str | int, genome: Genome) -> Interval:
    """Read `chr1`, `1` or `chr1:1,001-2,000` (1-based, both ends included) against a genome."""
    text = str(text).strip()
    try:
        if ":" not in text:
            chrom = genome.resolve(text)
            return Interval(chrom, 0, genome.lengths[chrom])
        region = parse_region(text)
        chrom = genome.resolve(region.chrom)
    except ValueError as error:
        raise InputError(f"{error}{_comma_hint(text)}") from error
    except InputError as error:
        raise InputError(f"region {text!r}: {error}{_comma_hint(text)}") from error
    if region.end > genome.lengths[chrom]:
        raise InputError(
            f"region {text!r} ends after {chrom}, which has {genome.lengths[chrom]:,} bases in "
            f"{genome.path.name}. Is the region from another assembly?"
        )
    return Interval(chrom, region.start, region.end)


def _comma_hint(text: str) -> str:
    if not text.isdigit() or len(text) > 3:
        return ""
    return (
        ". If it is the rest of a number with thousands commas: inside [...] leave the commas "
        "out or put the region in double quotes"
    )


def select(
    genome: Genome, regions: Sequence[str | int], exclude: Sequence[str | int] = ()
) -> list[Interval]:
    """Return the regions (none: the whole genome) less the excluded ones, ordered and disjoint."""
    selected = [read_region(text, genome) for text in (regions or genome.lengths)]
    excluded = [read_region(text, genome) for text in exclude]
    left = subtract(merge(selected, list(genome.lengths)), merge(excluded, list(genome.lengths)))
    if not left:
        raise InputError(
            f"the excluded regions {list(exclude)} leave nothing of the regions {list(regions)}"
        )
    return left


def merge(intervals: Iterable[Interval], order: Sequence[str]) -> list[Interval]:
    """Join intervals that overlap or touch; chromosomes come in the given order.

    Example:
        >>> merge([Interval("b", 5, 9), Interval("a", 3, 6), Interval("a", 0, 3)], ["b", "a"])
        [Interval(chrom='b', start=5, end=9, strand='+'), Interval(chrom='a', start=0, end=6, strand='+')]
    """
    rank = {chrom: i for i, chrom in enumerate(order)}
    merged: list[Interval] = []
    for interval in sorted(intervals, key=lambda i: (rank[i.chrom], i.start, i.end)):
        last = merged[-1] if merged else None
        if last and last.chrom == interval.chrom and interval.start <= last.end:
            merged[-1] = Interval(last.chrom, last.start, max(last.end, interval.end))
        else:
            merged.append(Interval(interval.chrom, interval.start, interval.end))
    return merged


def subtract(intervals: Iterable[Interval], excluded: Sequence[Interval]) -> list[Interval]:
    """Cut the excluded intervals (merged, sorted within a chromosome) out of the others.

    Example:
        >>> subtract([Interval("a", 0, 10)], [Interval("a", 2, 4)])
        [Interval(chrom='a', start=0, end=2, strand='+'), Interval(chrom='a', start=4, end=10, strand='+')]
    """
    left = []
    for interval in intervals:
        start = interval.start
        for hole in excluded:
            if hole.overlap(interval) == 0:
                continue
            if hole.start > start:
                left.append(Interval(interval.chrom, start, hole.start))
            start = max(start, hole.end)
        if start < interval.end:
            left.append(Interval(interval.chrom, start, interval.end))
    return left


def contiguous_stretches(genome: Genome, interval: Interval, max_n_run_bp: int) -> list[Interval]:
    """Cut an interval at assembly gaps: runs of N longer than `max_n_run_bp`."""
    # A gap of N is unknown sequence, not a repeat: no token may span it. Shorter runs (a base the
    # assembly could not call) stay. A gap is measured on the chromosome, so a long gap is still a
    # gap if only its first bases reach into the interval.
    chrom_bp = genome.lengths[genome.resolve(interval.chrom)]
    reach = max_n_run_bp + 1
    first, last = max(0, interval.start - reach), min(chrom_bp, interval.end + reach)
    starts, ends = unknown_spans(genome, interval.chrom, first, last, at_once_bp=SCAN_BP)
    gaps = [
        Interval(interval.chrom, start, end)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        if end - start > max_n_run_bp
    ]
    return subtract([Interval(interval.chrom, interval.start, interval.end)], gaps)
