"""Windows of a FASTA file, of intervals in a BED file, or of sequences in memory."""

import itertools
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import shown_name
from dna_bigbird.core.several import check_each, several
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.bed import check_inside, iter_bed
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.fasta_pieces import FastaPiece
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of, read_dna
from dna_bigbird.genome.haplotypes import Change, Haplotype, calls_of, sample_columns
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.record_names import is_place, place_of
from dna_bigbird.genome.structural import structural_edit
from dna_bigbird.genome.variants import Variant, open_vcf
from dna_bigbird.prediction.variants.sites import change_of, mismatch_of
from dna_bigbird.prediction.windows.tiling import Window, WindowSource, tile, window_start

Coordinates = Literal["record", "genome"]
_READ_BP = 1 << 20
"""Bases of an interval that are checked at once."""


class FastaSource(WindowSource):
    """Windows over every record of a FASTA file, plain, gzip or bgzip; '-' is standard input."""

    # With coordinates 'genome', windows of records named by location (`chr1:100-200`,
    # `record_names.place_of`) have name and coordinates of the chromosome; their bases are those of
    # the record, on either strand. Such a record is held in memory if the input can be read only
    # once.

    @checked(rest=WindowSource)
    def __init__(
        self, path: Path | str, *, coordinates: Coordinates = "record", **tiles: Any
    ) -> None:
        self.path, self.in_genome = str(path), coordinates == "genome"
        super().__init__(readable_files(fasta=self.path), **tiles)
        self._locations: dict[str, Interval] = {}
        """Locations of records longer than a block, which are few, by name."""
        self._lengths: dict[str, int] = {}
        self._has_lengths = False

    @property
    def lengths(self) -> dict[str, int]:
        if self.files and not self._has_lengths:
            # Not kept by `check`: ten million names take a gigabyte, and most outputs need none.
            for piece, length in self._record_lengths():
                self._note_length(piece.name, self._location(piece, length), length)
            self._has_lengths = True
        return self._lengths

    def check(self) -> None:
        if not self.files:
            return
        count = 0
        for piece, length in self._record_lengths():
            count += self.num_windows(length)
            self.records.count(length)
            location = self._location(piece, length)
            if location is not None and piece.start:
                self._locations[piece.name] = location
        self.count = count

    def windows(self, first: int = 0) -> Iterator[Window]:
        by_record = itertools.groupby(read_dna(self.path), key=lambda item: item[0].line)
        for _, record in by_record:
            first = yield from self._windows_of(record, first)

    def _windows_of(self, record: Iterator[tuple[FastaPiece, str]], first: int) -> Iterator[Window]:
        """Yield the windows of a record; return how many windows of later records to leave out."""
        held = [next(record)]
        head = held[0][0]
        location = self._locations.get(head.name)
        if location is None and self.in_genome and is_place(head.name):
            held += record  # read only once, so its length shows only now
            last, bases = held[-1]
            location = self._location(head, last.start + len(bases))
        length = 0

        def texts() -> Iterator[str]:
            nonlocal length
            for piece, bases in itertools.chain(held, record):
                length = piece.start + len(bases)
                yield bases

        for start, bases in tile(texts(), self.window_bp, self.stride_bp, first):
            yield _located_window(head.name, location, start, bases)
        if not self.files:
            self.records.count(length)
            self._note_length(head.name, location, length)
        return max(0, first - self.num_windows(length))

    def _record_lengths(self) -> Iterator[tuple[FastaPiece, int]]:
        """Read everything; yield the last piece of every record and the record's length."""
        for piece, bases in read_dna(self.path):
            if piece.is_last:
                yield piece, piece.start + len(bases)

    def _location(self, piece: FastaPiece, length: int) -> Interval | None:
        if not (self.in_genome and is_place(piece.name)):
            return None
        try:
            return place_of(piece.name, length)
        except ValueError as error:
            raise InputError(
                f"{shown_name(self.path)}:{piece.line}: {error}. "
                "To count from the start of every record: --coordinates record"
            ) from error

    def _note_length(self, name: str, location: Interval | None, length: int) -> None:
        name, end = (name, length) if location is None else (location.chrom, location.end)
        self._lengths[name] = max(end, self._lengths.get(name, 0))


def _located_window(name: str, location: Interval | None, start: int, bases: str) -> Window:
    """Return the window at position `start` of a record, in the coordinates of its location."""
    length = len(bases)
    if location is None:
        return Window(name, start, start + length, bases)
    left = location.end - start - length if location.strand == "-" else location.start + start
    is_reverse = location.strand == "-"
    return Window(location.chrom, left, left + length, bases, is_reverse=is_reverse)


class BedSource(WindowSource):
    """Windows over the intervals of a BED file, in any order, cut from a genome."""

    # Windows have the names of their rows if any row has one (of a BED that can be read only once:
    # if the first has one). With strand 'interval', a row on '-' is read on its own strand and cut
    # into windows from its end.

    unit = "BED rows"

    def __init__(
        self, bed: Path | str, fasta: Path | str, *, strand: str = "both", **tiles: int | None
    ) -> None:
        self.bed, self.genome = str(bed), Genome(fasta)
        self.by_strand = strand == "interval"
        files = {"fasta": self.genome.path, **readable_files(bed=self.bed)}
        super().__init__(files, **tiles)
        self._has_names: bool | None = None

    @property
    def lengths(self) -> dict[str, int]:
        return self.genome.lengths

    def check(self) -> None:
        if "bed" not in self.files:
            return
        count, has_names = 0, False
        for here, name in self._intervals():
            for start in range(here.start, here.end, _READ_BP):
                self.genome.fetch(Interval(here.chrom, start, min(here.end, start + _READ_BP)))
            count += self.num_windows(here.length)
            self.records.count(here.length)
            has_names |= is_name(name)
        self.count, self._has_names = count, has_names

    def windows(self, first: int = 0) -> Iterator[Window]:
        for here, name in self._intervals():
            if self._has_names is None:
                self._has_names = is_name(name)
            if "bed" not in self.files:
                self.records.count(here.length)
            count = self.num_windows(here.length)
            for number in range(first, count):
                start = window_start(number, here.length, self.window_bp, self.stride_bp)
                length = min(self.window_bp, here.length)
                left = here.end - start - length if here.strand == "-" else here.start + start
                window = Interval(here.chrom, left, left + length, here.strand)
                row_name = name if self._has_names else None
                bases, is_reverse = self.genome.fetch(window), here.strand == "-"
                yield Window(window.chrom, left, window.end, bases, row_name, is_reverse)
            first = max(0, first - count)

    def _intervals(self) -> Iterator[tuple[Interval, str]]:
        """Yield the rows on the strand to be read, as the genome names its chromosomes, and their names."""
        shown = shown_name(self.bed)
        row = None
        for row in iter_bed(self.bed):
            check_inside([row], self.genome, shown)
            here = row.interval
            strand = "-" if self.by_strand and here.strand == "-" else "+"
            chrom = self.genome.resolve(here.chrom)
            yield Interval(chrom, here.start, here.end, strand), row.name
        if row is None:
            raise InputError(f"{shown}: no row in it; expected at least one interval")


class HaplotypeSource(BedSource):
    """Windows over the intervals of a BED file, cut from the two haplotypes of a sample, which come in turn.

    A window has the coordinates of the reference and as many bases; its middle is that of the reference window.
    """

    # Only variants up to a window from the intervals are kept.

    def __init__(
        self,
        bed: Path | str,
        fasta: Path | str,
        vcf: Path | str,
        sample: str | None,
        unphased: str,
        **more: Any,
    ) -> None:
        super().__init__(bed, fasta, **more)
        if "bed" not in self.files:
            raise InputError(f"--bed {bed}: with --vcf it is read twice and must be a file")
        self.vcf, self._unphased = str(vcf), unphased
        self.files |= readable_files(vcf=self.vcf)
        with open_vcf(self.vcf) as (header, variants):
            columns = sample_columns(header, shown_name(self.vcf), sample)
            if len(columns) > 1:
                raise InputError(
                    f"{shown_name(self.vcf)} has {len(columns):,} samples; name one with --sample"
                )
            (self.sample,) = columns
            self._haplotypes = self._read(variants, columns)

    def check(self) -> None:
        super().check()
        self.count = 2 * (self.count or 0)

    def windows(self, first: int = 0) -> Iterator[Window]:
        skipped = first % 2
        for window in super().windows(first // 2):
            pair = (
                self._haplotypes.get(window.name) or (Haplotype(self.genome, window.name, ()),) * 2
            )
            for number, haplotype in list(enumerate(pair, start=1))[skipped:]:
                middle = (window.start + window.end) // 2
                start = haplotype.position(middle) - (middle - window.start)
                bases = haplotype.fetch(start, start + window.end - window.start)
                name = f"{self.sample}:{number}"
                if is_name(window.row_name or "."):
                    name = f"{window.row_name}:{name}"
                bases = reverse_complement(bases) if window.is_reverse else bases
                yield replace(window, bases=bases, row_name=name)
            skipped = 0

    def _read(
        self, variants: Iterator[Variant], columns: dict[str, int]
    ) -> dict[str, tuple[Haplotype, Haplotype]]:
        """Return the haplotypes of chromosomes with variants near the intervals."""
        near = self._near()
        changes: dict[str, tuple[list[Change], list[Change]]] = {}
        left_out: Counter[str] = Counter()
        blocks: dict[str, set[str]] = {}
        shown = shown_name(self.vcf)
        for variant in variants:
            chrom, here = self.genome.find(variant.chrom), variant.interval
            starts, ends = near.get(chrom or "", ([], []))
            index = bisect_left(starts, here.end)
            if not index or ends[index - 1] < here.start:
                continue
            (call,) = calls_of(variant, columns, self._unphased, shown)
            edits = {x: structural_edit(variant, x - 1) for x in call[:2] if x}
            if edits and (fault := mismatch_of(variant, self.genome, [*edits.values()])):
                raise InputError(
                    f"{shown}:{variant.line}: {fault}. Is the VCF on another assembly?"
                )
            if call.block:
                blocks.setdefault(chrom, set()).add(call.block)
            for side, number in enumerate(call[:2]):
                if isinstance(edit := edits.get(number), str):
                    left_out[edit] += 1
                elif edit:
                    both = changes.setdefault(chrom, ([], []))
                    both[side].append(change_of(self.genome, variant, number - 1))
        haplotypes = {
            chrom: tuple(Haplotype(self.genome, chrom, side) for side in both)
            for chrom, both in changes.items()
        }
        read = sum(len(side) for both in changes.values() for side in both)
        used = sum(len(x.changes) for both in haplotypes.values() for x in both)
        left_out["overlap with another allele"] += read - used
        self._note(used, left_out, max(map(len, blocks.values()), default=0))
        return haplotypes

    def _note(self, used: int, left_out: Mapping[str, int], blocks: int) -> None:
        lines = [f"{used:,} alleles on the two haplotypes of {self.sample} near the regions"]
        if any(left_out.values()):
            parts = (f"{count:,} {reason}" for reason, count in left_out.items() if count)
            lines.append(f"left out: {', '.join(parts)}")
        if blocks > 1:
            lines.append(
                "the VCF has several phase sets: which haplotype is 1 and which is 2 is the same within each only"
            )
        self.records.more += lines

    def _near(self) -> dict[str, tuple[list[int], list[int]]]:
        """Return starts and ends of the intervals with a window on both sides, joined where they overlap."""
        joined: dict[str, tuple[list[int], list[int]]] = {}
        for here in sorted(here for here, _ in self._intervals()):
            starts, ends = joined.setdefault(here.chrom, ([], []))
            first, last = here.start - self.window_bp, here.end + self.window_bp
            if ends and first <= ends[-1]:
                ends[-1] = max(last, ends[-1])
            else:
                starts.append(first)
                ends.append(last)
        return joined


def is_name(column: str) -> bool:
    """Return True for a column 4 that names its row: BED has '.' for no name."""
    return column not in ("", ".")


def readable_files(**paths: str) -> dict[str, Path]:
    """Return the paths that can be read again: not those of streams."""
    return {
        role: Path(path)
        for role, path in paths.items()
        if path != "-" and (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path))
    }


SEQUENCE = "sequence_"
"""Names of sequences that have none begin with this."""


@checked()
def window_source(
    fasta: Path | str | None,
    bed: Path | str | None,
    sequences: Mapping[str, str] | None,
    *,
    window: int,
    stride: int,
    strand: Literal["both", "forward", "interval"] = "both",
    coordinates: Coordinates = "record",
    model_bp: int | None = None,
    resume: bool = False,
    haplotypes: tuple[Path | str, str | None, str] | None = None,
) -> WindowSource:
    """Return the windows of a FASTA file, intervals of it, or sequences in memory, checked."""
    # haplotypes: VCF file, name of the sample, what genotypes without phase are.
    tiles = {"window_bp": window, "stride_bp": stride, "model_bp": model_bp}
    if haplotypes and bed is None:
        raise InputError(
            f"--vcf {haplotypes[0]}: haplotypes are read in the regions of a --bed file; none was given"
        )
    if strand == "interval" and bed is None:
        raise InputError("--strand interval is that of column 6 of a --bed file; none was given")
    check_is_a_file(fasta)
    if (fasta is None) == (sequences is None):
        raise InputError("expected DNA from one source: --fasta, with or without --bed")
    if sequences is not None:
        if bed is not None:
            raise InputError("--bed cuts intervals from a --fasta, not from sequences in memory")
        source: WindowSource = SequenceSource(sequences, **tiles)
    elif haplotypes:
        source = HaplotypeSource(bed, fasta, *haplotypes, strand=strand, **tiles)
    elif bed is not None:
        source = BedSource(bed, fasta, strand=strand, **tiles)
    else:
        source = FastaSource(fasta, coordinates=coordinates, **tiles)
    source.check()
    if resume and source.count is None:
        raise InputError(
            "--resume: standard input cannot be read from the start again; save it as a file"
        )
    return source


def check_is_a_file(fasta: object) -> None:
    """Raise InputError for DNA in memory where the name of a FASTA file is expected."""
    is_text = isinstance(fasta, str) and not os.path.exists(fasta)
    if is_text and len(fasta) > 1 and not fasta.upper().strip("ACGTUN \n"):
        raise InputError(
            f"--fasta {shortened(fasta)}: no such file. If this is the DNA itself: from Python give "
            "sequences=['ACGT...'], otherwise save it as a FASTA file"
        )
    if not isinstance(fasta, str | os.PathLike | None):
        raise InputError(
            f"--fasta is {type(fasta).__name__}; expected the name of a FASTA file. DNA in memory: "
            "sequences=['ACGT...']"
        )


def named_sequences(sequences: object) -> dict[str, str] | None:
    """Return sequences by name: those of a list are sequence_1, sequence_2, ...; None stays.

    Example:
        >>> named_sequences(["ACGT", "GGG"])
        {'sequence_1': 'ACGT', 'sequence_2': 'GGG'}
    """
    # A mapping, one text, or several (`several`): the names of a column of a data frame are those
    # of its rows if these are text; numbers of rows are not used.
    if sequences is None:
        return None
    if isinstance(sequences, Mapping):
        return dict(sequences)
    if isinstance(sequences, os.PathLike) or (
        isinstance(sequences, str) and os.path.exists(sequences)
    ):
        raise InputError(
            f"sequences={sequences!r} is a file; to read it, give fasta={os.fspath(sequences)!r}"
        )
    if isinstance(sequences, str):
        return {f"{SEQUENCE}1": sequences}
    values = several("sequences", sequences)
    if values is None:
        raise InputError(
            f"sequences is {type(sequences).__name__}; expected DNA, such as ['ACGT', 'GGCC'], or by "
            "name, such as {'name': 'ACGT'}"
        )
    check_each("sequences", values, lambda value: isinstance(value, str))
    names = [*getattr(sequences, "index", ())] if hasattr(sequences, "iloc") else []
    if not (names and all(isinstance(name, str) for name in names)):
        names = [f"{SEQUENCE}{number}" for number in range(1, len(values) + 1)]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(
            f"sequences: two rows are named {twice!r}; write frame.reset_index(drop=True) for numbered names"
        )
    return dict(zip(names, values, strict=True))


class SequenceSource(WindowSource):
    """Windows over sequences in memory, by name."""

    def __init__(self, sequences: Mapping[str, str], **tiles: int | None) -> None:
        super().__init__({}, **tiles)
        if not sequences:
            raise InputError("no sequence given; expected at least one")
        for name, letters in sequences.items():
            if not (isinstance(name, str) and isinstance(letters, str)):
                raise InputError(
                    f"sequence {name!r}: expected a name and letters, both text; found "
                    f"{type(name).__name__} and {type(letters).__name__}"
                )
            if not letters:
                raise InputError(f"sequence {name!r} has no base")
            if len(name.split()) != 1:
                raise InputError(f"sequence {name!r}: a name has no blanks, and is not empty")
        self.sequences = {
            name: dna_of(FastaRecord(name, letters, number), "sequences")
            for number, (name, letters) in enumerate(sequences.items(), start=1)
        }
        self.count = sum(self.num_windows(len(bases)) for bases in self.sequences.values())
        for bases in self.sequences.values():
            self.records.count(len(bases))

    @property
    def lengths(self) -> dict[str, int]:
        return {name: len(bases) for name, bases in self.sequences.items()}

    def check(self) -> None:
        """Do nothing: everything was checked on construction."""

    def windows(self, first: int = 0) -> Iterator[Window]:
        for name, bases in self.sequences.items():
            for start, window in tile([bases], self.window_bp, self.stride_bp, first):
                yield Window(name, start, start + len(window), window)
            first = max(0, first - self.num_windows(len(bases)))
