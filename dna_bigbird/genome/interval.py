"""A piece of a genome, and a start site on it."""

from dataclasses import dataclass

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import whole_number


@dataclass(frozen=True, order=True)
class Interval:
    """A 0-based, half-open interval; `strand` is '+', '-' or '.' where it has no meaning."""

    chrom: str
    start: int
    end: int
    strand: str = "+"

    @property
    def length(self) -> int:
        """Length in base pairs."""
        return self.end - self.start

    @property
    def text(self) -> str:
        """As `parse_region` reads it and genome browsers write it: from 1, both ends included.

        Example:
            >>> Interval("chr1", 999, 2000).text
            'chr1:1,000-2,000'
        """
        return f"{self.chrom}:{self.start + 1:,}-{self.end:,}"

    def overlap(self, other: "Interval") -> int:
        """Return how many base pairs both intervals share, on any strand.

        Example:
            >>> Interval("chr1", 0, 10).overlap(Interval("chr1", 8, 20))
            2
        """
        if self.chrom != other.chrom:
            return 0
        return max(0, min(self.end, other.end) - max(self.start, other.start))

    def centred(self, length_bp: int) -> "Interval":
        """Return the window of `length_bp` with the same centre; it may run past the chromosome.

        Example:
            >>> Interval("chr1", 1000, 1200).centred(1000)
            Interval(chrom='chr1', start=600, end=1600, strand='+')
        """
        start = (self.start + self.end) // 2 - length_bp // 2
        return Interval(self.chrom, start, start + length_bp, self.strand)


def promoter_window(
    chrom: str, tss: int, strand: str, *, upstream: int, downstream: int
) -> Interval:
    """Cut the window around a transcription start site, oriented with the gene.

    Args:
        tss: 0-based position of the first transcribed base.
        upstream, downstream: Bases before and after the start, in the direction of
            transcription. The first transcribed base counts as downstream.

    Returns:
        A 0-based, half-open interval, `upstream + downstream` long on either strand.
        It may run past the chromosome; `Genome.fetch` decides what to do then.

    Raises:
        ValueError: If `strand` is neither '+' nor '-'.

    Example:
        >>> promoter_window("chr1", 1000, "+", upstream=200, downstream=50)
        Interval(chrom='chr1', start=800, end=1050, strand='+')
        >>> promoter_window("chr1", 1000, "-", upstream=200, downstream=50)
        Interval(chrom='chr1', start=951, end=1201, strand='-')
    """
    if strand == "+":
        return Interval(chrom, tss - upstream, tss + downstream, strand)
    if strand == "-":
        return Interval(chrom, tss + 1 - downstream, tss + 1 + upstream, strand)
    raise ValueError(f"strand must be '+' or '-', got {strand!r}")


def parse_region(text: str) -> Interval:
    """Read a region as samtools writes it: `chr1:1,001-2,000`, 1-based with both ends included.

    Example:
        >>> parse_region("chr22:20,000,001-21,000,000")
        Interval(chrom='chr22', start=20000000, end=21000000, strand='+')
    """
    chrom, colon, span = text.rpartition(":")
    first, dash, last = span.replace(",", "").partition("-")
    start, end = whole_number(first), whole_number(last)
    if not (chrom and colon and dash) or start is None or end is None:
        raise ValueError(f"{text!r} is not a region; write it as chr22:20,000,001-21,000,000")
    if not 1 <= start <= end:
        raise ValueError(f"region {text!r} is empty or starts below 1 (regions count from 1)")
    return Interval(chrom, start - 1, end)


@dataclass(frozen=True)
class StartSite:
    """One start site: 1 bp (0-based, half-open), strand '+' or '-'; `gene` is empty if unknown."""

    interval: Interval
    name: str
    gene: str
    line_number: int


def position(text: str, what: str, where: str) -> int:
    """Read a coordinate of a file that counts from 1; the InputError starts with `where`."""
    number = whole_number(text.strip())
    if number is None:
        raise InputError(f"{where}: {what} is {shortened(text)!r}, expected a whole number")
    if number < 1:
        raise InputError(f"{where}: {what} is {number}; this format counts from 1")
    return number
