"""Where the windows to be scored come from: FASTA files, intervals of a genome, sequences in memory."""

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from dna_bigbird.errors import InputError
from dna_bigbird.files import open_binary
from dna_bigbird.genome.bed import check_inside, iter_bed
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.fasta_stream import (
    BLOCK,
    FastaPiece,
    FastaRecord,
    dna_of,
    read_dna,
    shown_name,
)
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.record_names import is_place, place_of
from dna_bigbird.inference.windows import Window, num_windows, tile, window_start

Coordinates = Literal["record", "genome"]


class WindowSource:
    """Windows in a fixed order, that can be counted and checked before any of them is scored.

    Attributes:
        files: The files read, by role ('fasta', 'bed'); without those that can be read only once
            (standard input, pipes), and empty for sequences in memory.
        count: Windows in all, known after `check`; None where the input can be read only once.
    """

    def __init__(self, files: dict[str, Path], window_bp: int, stride_bp: int) -> None:
        self.files = files
        self.window_bp, self.stride_bp = window_bp, stride_bp
        self.count: int | None = None

    @property
    def lengths(self) -> dict[str, int]:
        """Length in base pairs of every sequence that a window names.

        Of a chromosome that records are named after only their furthest end is known. Where the
        input can be read only once, this is complete when the last window was read.
        """
        raise NotImplementedError

    def check(self) -> None:
        """Read everything once and set `count`; nothing where the input can be read only once.

        Raises:
            InputError: At the first thing that is wrong, with file and line.
        """
        raise NotImplementedError

    def windows(self, first: int = 0) -> Iterator[Window]:
        """Yield the windows from number `first` on, counted from 0.

        Raises:
            InputError: As `check`, once the place is reached.
        """
        raise NotImplementedError

    def _num_windows(self, length_bp: int) -> int:
        return num_windows(length_bp, self.window_bp, self.stride_bp)


class _FastaSource(WindowSource):
    def __init__(self, path: str, window_bp: int, stride_bp: int, in_genome: bool) -> None:
        super().__init__(_files(fasta=path), window_bp, stride_bp)
        self.path, self.in_genome = path, in_genome
        self._places: dict[str, Interval] = {}
        """Of the records longer than a block, which are few: known before their last base."""
        self._lengths: dict[str, int] = {}
        self._has_lengths = False

    @property
    def lengths(self) -> dict[str, int]:
        if self.files and not self._has_lengths:
            # Not kept by `check`: ten million names take a gigabyte, and most outputs need none.
            for piece, length in self._record_lengths():
                self._note_length(piece.name, self._place(piece, length), length)
            self._has_lengths = True
        return self._lengths

    def check(self) -> None:
        if not self.files:
            return
        count = 0
        for piece, length in self._record_lengths():
            count += self._num_windows(length)
            place = self._place(piece, length)
            if place is not None and piece.start:
                self._places[piece.name] = place
        self.count = count

    def windows(self, first: int = 0) -> Iterator[Window]:
        by_record = itertools.groupby(read_dna(self.path), key=lambda item: item[0].line)
        for _, record in by_record:
            first = yield from self._windows_of(record, first)

    def _windows_of(self, record: Iterator[tuple[FastaPiece, str]], first: int) -> Iterator[Window]:
        """Yield a record's windows; return how many windows of later ones are to be left out."""
        held = [next(record)]
        head = held[0][0]
        place = self._places.get(head.name)
        if place is None and self.in_genome and is_place(head.name):
            held += record  # read only once, so its length shows only now
            last, bases = held[-1]
            place = self._place(head, last.start + len(bases))
        length = 0

        def texts() -> Iterator[str]:
            nonlocal length
            for piece, bases in itertools.chain(held, record):
                length = piece.start + len(bases)
                yield bases

        for start, bases in tile(texts(), self.window_bp, self.stride_bp, first):
            yield _placed(head.name, place, start, bases)
        if not self.files:
            self._note_length(head.name, place, length)
        return max(0, first - self._num_windows(length))

    def _record_lengths(self) -> Iterator[tuple[FastaPiece, int]]:
        """Read everything; yield the last piece of every record and the record's length."""
        for piece, bases in read_dna(self.path):
            if piece.is_last:
                yield piece, piece.start + len(bases)

    def _place(self, piece: FastaPiece, length: int) -> Interval | None:
        if not (self.in_genome and is_place(piece.name)):
            return None
        try:
            return place_of(piece.name, length)
        except ValueError as error:
            raise InputError(
                f"{shown_name(self.path)}:{piece.line}: {error}. "
                "To count from the start of every record: --coordinates record"
            ) from error

    def _note_length(self, name: str, place: Interval | None, length: int) -> None:
        name, end = (name, length) if place is None else (place.chrom, place.end)
        self._lengths[name] = max(end, self._lengths.get(name, 0))


class _BedSource(WindowSource):
    def __init__(
        self, bed: str, genome: Genome, window_bp: int, stride_bp: int, by_strand: bool
    ) -> None:
        files = _files(fasta=str(genome.path), bed=bed)
        super().__init__(files, window_bp, stride_bp)
        self.bed, self.genome, self.by_strand = bed, genome, by_strand

    @property
    def lengths(self) -> dict[str, int]:
        return self.genome.lengths

    def check(self) -> None:
        if "bed" not in self.files:
            return
        count = 0
        for here in self._intervals():
            for start in range(here.start, here.end, BLOCK):
                self.genome.fetch(Interval(here.chrom, start, min(here.end, start + BLOCK)))
            count += self._num_windows(here.length)
        self.count = count

    def windows(self, first: int = 0) -> Iterator[Window]:
        for here in self._intervals():
            count = self._num_windows(here.length)
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


class _SequenceSource(WindowSource):
    def __init__(self, sequences: Mapping[str, str], window_bp: int, stride_bp: int) -> None:
        super().__init__({}, window_bp, stride_bp)
        if not sequences:
            raise InputError("no sequence given; expected at least one")
        for name, letters in sequences.items():
            if not letters:
                raise InputError(f"sequence {name!r} has no base")
            if len(name.split()) != 1:
                raise InputError(f"sequence {name!r}: a name has no blanks, and is not empty")
        self.sequences = {
            name: dna_of(FastaRecord(name, letters, number), "sequences")
            for number, (name, letters) in enumerate(sequences.items(), start=1)
        }
        self.count = sum(self._num_windows(len(bases)) for bases in self.sequences.values())

    @property
    def lengths(self) -> dict[str, int]:
        return {name: len(bases) for name, bases in self.sequences.items()}

    def check(self) -> None:
        """Nothing: all was checked when it was given."""

    def windows(self, first: int = 0) -> Iterator[Window]:
        for name, bases in self.sequences.items():
            for start, window in tile([bases], self.window_bp, self.stride_bp, first):
                yield Window(name, start, start + len(window), window)
            first = max(0, first - self._num_windows(len(bases)))


def fasta_source(
    path: Path | str, *, window_bp: int, stride_bp: int, coordinates: Coordinates = "record"
) -> WindowSource:
    """Return the windows over every record of a FASTA file.

    Args:
        path: Plain, gzip or bgzip; '-' is standard input.
        coordinates: 'record' counts from the start of each record. 'genome' does the same but for
            records named after places (see `record_names.place_of`): their windows carry the name
            and the coordinates of the chromosome, with the bases as the record has them, on
            whichever strand. Such a record is held in memory if the input can be read only once.

    Raises:
        InputError: If the file is missing or in a binary format; all else shows in `check`.
    """
    return _FastaSource(str(path), window_bp, stride_bp, coordinates == "genome")


def bed_source(
    bed: Path | str,
    fasta: Path | str,
    *,
    window_bp: int,
    stride_bp: int,
    strand: Literal["both", "forward", "interval"] = "both",
) -> WindowSource:
    """Return the windows over the intervals of a BED file, cut from a genome.

    Rows may overlap and stand in any order. Windows carry the coordinates of the genome, which
    names the chromosomes.

    Args:
        bed: Plain, gzip or bgzip; '-' is standard input.
        strand: With 'interval' a row on '-' is read, and cut into windows, from its end on the
            other strand; otherwise every row is read on '+'.

    Raises:
        InputError: If a file is missing or in a binary format, or the genome is no FASTA file; all
            else shows in `check`.
    """
    return _BedSource(str(bed), Genome(fasta), window_bp, stride_bp, strand == "interval")


def sequence_source(
    sequences: Mapping[str, str], *, window_bp: int, stride_bp: int
) -> WindowSource:
    """Return the windows over sequences in memory, by name.

    Raises:
        InputError: If there is none, a name is empty or has blanks, a sequence is empty or no DNA.
    """
    return _SequenceSource(sequences, window_bp, stride_bp)


def _files(**paths: str) -> dict[str, Path]:
    """Return the paths that can be read again, each opened once to see that it can be read."""
    found = {}
    for role, path in paths.items():
        is_stream = path == "-" or (
            os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
        )
        if not is_stream:
            with open_binary(path):
                found[role] = Path(path)
    return found


def _placed(name: str, place: Interval | None, start: int, bases: str) -> Window:
    """Return a record's window at the record's place `start`, in the coordinates of its place."""
    length = len(bases)
    if place is None:
        return Window(name, start, start + length, bases)
    left = place.end - start - length if place.strand == "-" else place.start + start
    return Window(place.chrom, left, left + length, bases)
