"""One form of an allele, however a VCF file writes it.

A VCF file may write one change in several ways: with bases around it that do not change, and an insertion or deletion in
a repeat at each of its copies. The form here is the same for all of them and on both strands: only what
changes, and of an insertion or deletion all the bases over which it can be moved (as in NCBI's SPDI).

    ACACAG  ->  ACAG: delete AC at 1, CA at 2 or AC at 3 = replace ACACA by ACA
    ^^^^^
"""

from collections.abc import Callable
from dataclasses import dataclass

from dna_bigbird.genome.alphabet import normalise
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval

_FIRST_READ = 64
"""Bases read at first to see how far a repeat reaches; then twice as many each time."""


@dataclass(frozen=True, slots=True)
class AlleleForm:
    """The bases `ref` of an interval (forward strand) that become `alt`; one of the two may be empty."""

    interval: Interval
    ref: str
    alt: str


def allele_form(genome: Genome, interval: Interval, ref: str, alt: str, longest: int) -> AlleleForm:
    """Return the form of an allele that does not depend on how it is written.

    Example:
        >>> import os, tempfile, pathlib
        >>> path = pathlib.Path(os.fsdecode(tempfile.mkdtemp())) / "toy.fa"
        >>> _ = path.write_text(">chr1\\nGACACAGT\\n")
        >>> allele_form(Genome(path), Interval("chr1", 0, 3), "GAC", "G", 100)
        AlleleForm(interval=Interval(chrom='chr1', start=1, end=6, strand='+'), ref='ACACA', alt='ACA')
    """
    ref, alt = normalise(ref), normalise(alt)
    if ref == alt:
        return AlleleForm(interval, ref, alt)
    before = _shared(ref, alt)
    after = _shared(ref[before:][::-1], alt[before:][::-1])
    ref, alt = ref[before : len(ref) - after], alt[before : len(alt) - after]
    start, end = interval.start + before, interval.end - after
    if (ref and alt) or "N" in ref:
        return AlleleForm(Interval(interval.chrom, start, end), ref, alt)
    chrom, length = interval.chrom, genome.lengths[genome.resolve(interval.chrom)]

    def before_it(first: int, stop: int) -> str:
        return genome.fetch(Interval(chrom, start - stop, start - first))[::-1]

    def after_it(first: int, stop: int) -> str:
        return genome.fetch(Interval(chrom, end + first, end + stop))

    left = _repeats(before_it, start, (ref or alt)[::-1])[::-1]
    right = _repeats(after_it, length - end, ref or alt)
    ref, alt = left + ref + right, left + alt + right
    too_many = max(0, len(ref) - longest, len(alt) - longest)
    cut = min((too_many + 1) // 2, min(len(ref), len(alt)) // 2)
    return AlleleForm(
        Interval(chrom, start - len(left) + cut, end + len(right) - cut),
        ref[cut : len(ref) - cut],
        alt[cut : len(alt) - cut],
    )


def _shared(first: str, other: str) -> int:
    """Return how many bases two texts have in common at their start."""
    pairs = enumerate(zip(first, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(other)))


def _repeats(read: Callable[[int, int], str], available: int, unit: str) -> str:
    """Return the bases that go on with a unit; `read` gives bases by their distance, of those that are there."""
    repeated, step = "", _FIRST_READ
    while len(repeated) < available:
        bases = read(len(repeated), min(len(repeated) + step, available))
        offset = len(repeated) % len(unit)
        expected = unit[offset:] + unit * (len(bases) // len(unit) + 1)
        same = _shared(bases, expected)
        repeated += bases[:same]
        if same < len(bases):
            break
        step *= 2
    return repeated
