"""Where the windows to be scored come from: FASTA files, intervals of a genome, sequences in memory."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from dna_bigbird.errors import InputError
from dna_bigbird.genome.bed import check_inside, iter_bed
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of, read_fasta
from dna_bigbird.genome.interval import Interval
from dna_bigbird.inference.windows import Window, window_starts, windows_of

Coordinates = Literal["record", "genome"]


class WindowSource:
    """Windows in a fixed order, that can be counted and checked before any of them is scored.

    Attributes:
        files: The files read, by role ('fasta', 'bed'); empty for standard input, pipes and
            sequences in memory.
        count: Windows in all, known after `check`; None where the input can be read only once.
        lengths: Length in base pairs of every sequence that a window names; complete after
            `check` or once all windows were read.
    """

    def __init__(self, files: dict[str, Path]) -> None:
        self.files = files
        self.count: int | None = None
        self.lengths: dict[str, int] = {}

    def check(self) -> None:
        """Read everything once; nothing happens where the input can be read only once.

        Raises:
            InputError: At the first thing that is wrong, with file and line.
        """
        if self.files:
            self.count = sum(1 for _ in self._all())

    def windows(self, first: int = 0) -> Iterator[Window]:
        """Yield the windows from number `first` on, the first of all being number 0."""
        for number, window in enumerate(self._all()):
            if number >= first:
                yield window

    def _all(self) -> Iterator[Window]:
        raise NotImplementedError


class _Fasta(WindowSource):
    def __init__(self, path: str, window_bp: int, stride_bp: int) -> None:
        super().__init__({} if path == "-" else {"fasta": Path(path)})
        self.path, self.window_bp, self.stride_bp = path, window_bp, stride_bp

    def _all(self) -> Iterator[Window]:
        for record in read_fasta(self.path):
            bases = dna_of(record, self.path)
            self.lengths[record.name] = len(bases)
            yield from windows_of(record.name, bases, self.window_bp, self.stride_bp)


class _Bed(WindowSource):
    def __init__(
        self, bed: str, genome: Genome, window_bp: int, stride_bp: int, by_strand: bool
    ) -> None:
        super().__init__({"fasta": genome.path} | ({} if bed == "-" else {"bed": Path(bed)}))
        self.bed, self.genome, self.by_strand = bed, genome, by_strand
        self.window_bp, self.stride_bp = window_bp, stride_bp
        self.lengths = dict(genome.lengths)

    def check(self) -> None:
        if "bed" in self.files:
            super().check()

    def _all(self) -> Iterator[Window]:
        for row in iter_bed(self.bed):
            check_inside([row], self.genome, self.bed)
            name = self.genome.resolve(row.interval.chrom)
            strand = row.interval.strand if self.by_strand else "+"
            start, end = row.interval.start, row.interval.end
            bases = self.genome.fetch(Interval(name, start, end, strand))
            for window in windows_of(name, bases, self.window_bp, self.stride_bp, start):
                if strand == "-":
                    here = (start + end - window.end, start + end - window.start)
                    window = Window(name, *here, window.bases)
                yield window


class _Sequences(WindowSource):
    def __init__(self, sequences: Mapping[str, str], window_bp: int, stride_bp: int) -> None:
        super().__init__({})
        self.window_bp, self.stride_bp = window_bp, stride_bp
        self.sequences = {
            name: dna_of(FastaRecord(name, letters, number), "sequences")
            for number, (name, letters) in enumerate(sequences.items(), start=1)
        }
        self.lengths = {name: len(bases) for name, bases in self.sequences.items()}
        self.count = sum(len(window_starts(n, window_bp, stride_bp)) for n in self.lengths.values())

    def _all(self) -> Iterator[Window]:
        for name, bases in self.sequences.items():
            yield from windows_of(name, bases, self.window_bp, self.stride_bp)


def fasta_source(
    path: Path | str, *, window_bp: int, stride_bp: int, coordinates: Coordinates = "record"
) -> WindowSource:
    """Windows over every record of a FASTA file: plain, gzip, bgzip, or standard input ('-')."""
    if coordinates == "genome":
        raise InputError("genome coordinates of FASTA records are not built yet")
    return _Fasta(str(path), window_bp, stride_bp)


def bed_source(
    bed: Path | str,
    fasta: Path | str,
    *,
    window_bp: int,
    stride_bp: int,
    strand: Literal["both", "forward", "interval"] = "both",
) -> WindowSource:
    """Windows over the intervals of a BED file, cut from a genome.

    Args:
        strand: With 'interval' rows on '-' are read on their own strand; else all are read on '+'.
    """
    return _Bed(str(bed), Genome(fasta), window_bp, stride_bp, strand == "interval")


def sequence_source(
    sequences: Mapping[str, str], *, window_bp: int, stride_bp: int
) -> WindowSource:
    """Windows over sequences in memory, by name."""
    return _Sequences(sequences, window_bp, stride_bp)
