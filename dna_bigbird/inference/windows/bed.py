"""Windows over intervals of a genome."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.files import shown_name
from dna_bigbird.genome.bed import check_inside, iter_bed
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.inference.windows.source import WindowSource, readable_files
from dna_bigbird.inference.windows.tiling import Window, window_start

_READ_BP = 1 << 20
"""Bases of an interval that are checked at once."""


class BedSource(WindowSource):
    """Windows over the intervals of a BED file, cut from a genome.

    Rows may overlap and be in any order. Windows have the coordinates of the genome and its names
    of the chromosomes.

    Args:
        bed: Plain, gzip or bgzip; '-' is standard input.
        fasta: The genome.
        strand: With 'interval', a row on '-' is read on its own strand and cut into windows from
            its end; otherwise every row is read on '+'.

    Raises:
        InputError: If a file is missing or in a binary format, or the genome is not FASTA;
            everything else is reported by `check`.
    """

    @checked()
    def __init__(
        self,
        bed: Path | str,
        fasta: Path | str,
        *,
        window_bp: int,
        stride_bp: int,
        strand: Literal["both", "forward", "interval"] = "both",
    ) -> None:
        self.bed, self.genome = str(bed), Genome(fasta)
        self.by_strand = strand == "interval"
        files = readable_files(fasta=str(self.genome.path), bed=self.bed)
        super().__init__(files, window_bp, stride_bp)

    @property
    def lengths(self) -> dict[str, int]:
        return self.genome.lengths

    def check(self) -> None:
        if "bed" not in self.files:
            return
        count = 0
        for here in self._intervals():
            for start in range(here.start, here.end, _READ_BP):
                self.genome.fetch(Interval(here.chrom, start, min(here.end, start + _READ_BP)))
            count += self.num_windows(here.length)
        self.count = count

    def windows(self, first: int = 0) -> Iterator[Window]:
        for here in self._intervals():
            count = self.num_windows(here.length)
            for number in range(first, count):
                start = window_start(number, here.length, self.window_bp, self.stride_bp)
                length = min(self.window_bp, here.length)
                left = here.end - start - length if here.strand == "-" else here.start + start
                window = Interval(here.chrom, left, left + length, here.strand)
                yield Window(window.chrom, left, window.end, self.genome.fetch(window))
            first = max(0, first - count)

    def _intervals(self) -> Iterator[Interval]:
        """Yield the rows as the genome names its chromosomes, on the strand to be read."""
        shown = shown_name(self.bed)
        row = None
        for row in iter_bed(self.bed):
            check_inside([row], self.genome, shown)
            here = row.interval
            strand = "-" if self.by_strand and here.strand == "-" else "+"
            yield Interval(self.genome.resolve(here.chrom), here.start, here.end, strand)
        if row is None:
            raise InputError(f"{shown}: no row in it; expected at least one interval")
