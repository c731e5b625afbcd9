"""Files of a genome browser, cut to what a page shows: values of bigWig files, lines of BED, GTF, GFF and VCF files."""

import functools
import itertools
import math
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

import numpy as np

from dna_bigbird.core.child_processes import StoppedWorkerError, Workers
from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.files import check_readable, check_utf8_name
from dna_bigbird.core.messages import listed_words
from dna_bigbird.genome.bed import BedRow, iter_bed, note_absent
from dna_bigbird.genome.chromosome_names import ChromosomeNames
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.sites.annotation import annotation_rows
from dna_bigbird.genome.variants import open_vcf
from dna_bigbird.labelled.tracks.signal_files import BedGraph
from dna_bigbird.report.browser.extents import Extents

MOST_CPU_S = 60
"""Processor seconds for one file; the stretches of a page take less than one."""


class Value(NamedTuple):
    """One value of a stretch of bases: 0-based, half-open."""

    chrom: str
    start: int
    end: int
    value: float
    """With as few digits as float32, the type in the file, needs."""


Task = tuple[Path, list[Interval]]


def read_values(path: Path, extents: Extents) -> list[Value]:
    """Return the finite values in the stretches, cut at their ends, by position in each stretch."""
    check_readable(path)
    check_utf8_name(path, "the library for bigWig files")
    try:  # the process keeps the folder in which it began
        ((lengths, values),) = _reader().map([(path.absolute(), list(extents))])
    except InputError as error:
        _reader.cache_clear()  # a process that failed reads no further file
        if isinstance(error, StoppedWorkerError):
            raise _damaged(path) from error
        raise
    _note_other_lengths(path, lengths, extents)
    return values


@functools.cache
def _reader() -> Workers[Task, tuple[dict[str, int], list[Value]]]:
    """Return a process that reads bigWig files: the library dies of some that are damaged."""
    return Workers(_in_process, 1, does="reads bigWig files")


def _in_process(number: int) -> Callable[[Task], tuple[dict[str, int], list[Value]]]:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # the library prints there
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return _read


def _read(task: Task) -> tuple[dict[str, int], list[Value]]:
    """Return the lengths of the chromosomes by the genome's names, and the values in the stretches."""
    import pyBigWig

    path, stretches = task
    last_s = int(time.process_time()) + MOST_CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (last_s, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    try:
        file = pyBigWig.open(os.fspath(path))
    except RuntimeError as error:
        raise InputError(f"{path}: this is not a bigWig file, or it is damaged") from error
    with file:
        if not file.isBigWig():
            raise InputError(f"{path}: this is a bigBed file; expected a bigWig. Turn it into BED")
        known = file.chroms()
        names = {x.chrom: _name_in(known, x.chrom, path) for x in stretches}
        try:
            values = [
                value
                for stretch in stretches
                for value in _of_stretch(file, names[stretch.chrom], known, stretch)
            ]
        except (RuntimeError, MemoryError) as error:
            raise _damaged(path) from error
    return {chrom: known[name] for chrom, name in names.items()}, values


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: cannot read its values; it is damaged. Copy it again")


def _of_stretch(file, name: str, lengths: dict[str, int], stretch) -> list[Value]:
    end = min(stretch.end, lengths[name])
    if stretch.start >= end:
        return []
    rows = file.intervals(name, stretch.start, end) or ()
    return [
        Value(
            stretch.chrom, max(first, stretch.start), min(last, end), float(str(np.float32(value)))
        )
        for first, last, value in rows
        if math.isfinite(value)
    ]


def _name_in(lengths: dict[str, int], chrom: str, path: Path) -> str:
    """Return the file's name of a chromosome of the genome."""
    name = ChromosomeNames(lengths).find(chrom)
    if name:
        return name
    some = ", ".join(map(shortened, list(lengths)[:5])) + (", …" if len(lengths) > 5 else "")
    raise InputError(
        f"{path}: chromosome {shortened(chrom)!r} is not in this bigWig file (it has {some}). Is it on another assembly?"
    )


def _note_other_lengths(path: Path, lengths: dict[str, int], extents: Extents) -> None:
    for chrom, length in lengths.items():
        if length != extents.genome.lengths[chrom]:
            note(
                f"{path}: {chrom} has {length:,} bases in this file and {extents.genome.lengths[chrom]:,} in "
                f"{extents.genome.path.name}; is it on another assembly?"
            )


VCF_COLUMNS = 8
"""Columns that are kept: all but FORMAT and samples."""
KEPT_HEADERS = ("##fileformat", "##INFO", "##FILTER", "##ALT")
PACKED = (".gz", ".bgz")

Row = TypeVar("Row")


@dataclass(frozen=True)
class Track:
    """What a page shows of one file."""

    name: str
    file: str
    format: str
    """bigWig, bedGraph, BED, narrowPeak, broadPeak, GTF, GFF3 or VCF."""
    values: list[Value] = field(default_factory=list)
    """Of a bigWig or bedGraph file."""
    lines: list[str] = field(default_factory=list)
    """Of other files: their rows, with the genome's names of chromosomes."""
    header: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(self.values) + len(self.lines)

    @property
    def most_overlapping(self) -> int:
        """Most intervals of a BED file over one base; 0 for other formats."""
        if self.format not in ("BED", "narrowPeak", "broadPeak"):
            return 0
        rows = [line.split("\t", 3) for line in self.lines]
        edges = [(row[0], int(row[1]), 1) for row in rows] + [
            (row[0], int(row[2]), -1) for row in rows
        ]
        return max(itertools.accumulate(step for *_, step in sorted(edges)), default=0)

    @property
    def has_single_bases(self) -> bool:
        """Whether most of the bases have a value of their own, so that letters can show it."""
        single = sum(value.end - value.start == 1 for value in self.values)
        return 2 * single > sum(value.end - value.start for value in self.values)

    @property
    def are_probabilities(self) -> bool:
        """Whether all values are between 0 and 1."""
        return all(0 <= value.value <= 1 for value in self.values)


def default_names(paths: Sequence[Path]) -> list[str]:
    """Return the names of files without their suffixes, or whole where two would be the same.

    Example:
        >>> default_names([Path("a/CTCF.bw"), Path("b/CTCF.bed"), Path("c/x.vcf.gz")])
        ['CTCF.bw', 'CTCF.bed', 'x']
    """
    short = [_without_suffixes(path) for path in paths]
    return [
        path.name if short.count(name) > 1 else name
        for path, name in zip(paths, short, strict=True)
    ]


def read_track(path: Path, extents: Extents, name: str) -> Track:
    """Read what a file has in the shown stretches of a genome."""
    suffix = _suffix(path)
    if not path.exists():
        raise InputError(f"--tracks {path}: no such file")
    if suffix not in FORMATS:
        raise InputError(
            f"--tracks {path}: {suffix or 'no suffix'} is not the suffix of a format that is shown here; expected "
            f"{listed_words(sorted(FORMATS))} (text also with .gz)"
        )
    format, read = FORMATS[suffix]
    return read(path, extents, name, format)


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def _without_suffixes(path: Path) -> str:
    stem = Path(path.name).stem if path.suffix.lower() in PACKED else path.name
    return Path(stem).stem


def _read_bigwig(path: Path, extents: Extents, name: str, format: str) -> Track:
    return Track(name, path.name, format, values=read_values(path, extents))


def _read_bedgraph(path: Path, extents: Extents, name: str, format: str) -> Track:
    signal = BedGraph(path)
    known = ChromosomeNames(signal.ends)
    values = []
    for x in extents:
        at = known.find(x.chrom)
        bases = signal.values(at, x.start, x.end) if at else np.empty(0)
        edges = [0, *np.flatnonzero(np.diff(bases)) + 1, len(bases)]
        values += [
            Value(x.chrom, x.start + int(i), x.start + int(j), float(str(bases[i])))
            for i, j in itertools.pairwise(edges)
            if i < j and not np.isnan(bases[i])
        ]
    return Track(name, path.name, format, values=values)


def _read_bed(path: Path, extents: Extents, name: str, format: str) -> Track:
    rows = ((row, row.interval) for row in iter_bed(path))
    lines = [_bed_line(row, chrom) for row, chrom in _shown(path, extents, rows)]
    return Track(name, path.name, format, lines=lines)


def _bed_line(row: BedRow, chrom: str) -> str:
    """Return a row between tabs, without the columns at its end that are empty."""
    here = row.interval
    columns = [chrom, str(here.start), str(here.end), row.name, row.score, here.strand, *row.extra]
    while len(columns) > 3 and columns[-1] == ".":
        columns.pop()
    return "\t".join(columns)


def _read_annotation(path: Path, extents: Extents, name: str, format: str) -> Track:
    is_encoded = format == "GFF3"
    rows = ((fields, _interval(fields, is_encoded)) for fields, _ in annotation_rows(path))
    lines = ["\t".join([chrom, *fields[1:]]) for fields, chrom in _shown(path, extents, rows)]
    return Track(name, path.name, format, lines=lines)


def _interval(fields: list[str], is_encoded: bool) -> Interval:
    chrom = unquote(fields[0]) if is_encoded else fields[0]
    return Interval(chrom, int(fields[3]) - 1, int(fields[4]))


def _read_vcf(path: Path, extents: Extents, name: str, format: str) -> Track:
    with open_vcf(path) as (header, variants):
        rows = ((variant, variant.interval) for variant in variants)
        lines = [
            "\t".join([chrom, *variant.text.split("\t")[1:VCF_COLUMNS]])
            for variant, chrom in _shown(path, extents, rows)
        ]
    return Track(name, path.name, format, lines=lines, header=list(_kept(header.lines)))


def _kept(lines: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a header that igv.js reads, the column names last."""
    yield from (line for line in lines[:-1] if line.startswith(KEPT_HEADERS))
    yield "\t".join(lines[-1].split("\t")[:VCF_COLUMNS])


def _shown(
    path: Path, extents: Extents, rows: Iterable[tuple[Row, Interval]]
) -> Iterator[tuple[Row, str]]:
    """Yield the rows whose interval is shown, with the genome's name of the chromosome."""
    names: dict[str, str | None] = {}
    absent: Counter[str] = Counter()
    for row, interval in rows:
        if interval.chrom not in names:
            names[interval.chrom] = extents.genome.find(interval.chrom)
        chrom = names[interval.chrom]
        if chrom is None:
            absent[interval.chrom] += 1
        elif extents.overlap(Interval(chrom, interval.start, interval.end)):
            yield row, chrom
    if names and not any(names.values()):
        extents.genome.resolve(next(iter(names)))  # raises
    note_absent(path, extents.genome, absent, "rows")


FORMATS: dict[str, tuple[str, Callable[[Path, Extents, str, str], Track]]] = {
    ".bw": ("bigWig", _read_bigwig),
    ".bigwig": ("bigWig", _read_bigwig),
    ".bedgraph": ("bedGraph", _read_bedgraph),
    ".bed": ("BED", _read_bed),
    ".narrowpeak": ("narrowPeak", _read_bed),
    ".broadpeak": ("broadPeak", _read_bed),
    ".gtf": ("GTF", _read_annotation),
    ".gff": ("GFF3", _read_annotation),
    ".gff3": ("GFF3", _read_annotation),
    ".vcf": ("VCF", _read_vcf),
}
"""By suffix in lower case."""
