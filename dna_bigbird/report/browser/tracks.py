"""Files of a genome browser, cut to what a page shows: values of bigWig files, lines of BED, GTF, GFF and VCF files."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import listed_words
from dna_bigbird.genome.bed import BedRow, iter_bed, note_absent
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.sites.annotation_rows import annotation_rows
from dna_bigbird.genome.variants import open_vcf
from dna_bigbird.report.browser.bigwig import Value, read_values
from dna_bigbird.report.browser.extents import Extents

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
    """bigWig, BED, narrowPeak, broadPeak, GTF, GFF3 or VCF."""
    values: list[Value] = field(default_factory=list)
    """Of a bigWig file."""
    lines: list[str] = field(default_factory=list)
    """Of other files: their rows, with the genome's names of chromosomes."""
    header: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Number of values or lines."""
        return len(self.values) + len(self.lines)

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
    """Read what a file has in the shown stretches of a genome.

    Raises:
        InputError: If the file is missing, damaged, or its suffix is not that of a format in FORMATS; for bigWig files
            also if they lack a chromosome.
    """
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
    """Yield the rows whose interval is shown, with the genome's name of the chromosome.

    Raises:
        InputError: At the end, if the genome has none of the chromosomes.
    """
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
    ".bed": ("BED", _read_bed),
    ".narrowpeak": ("narrowPeak", _read_bed),
    ".broadpeak": ("broadPeak", _read_bed),
    ".gtf": ("GTF", _read_annotation),
    ".gff": ("GFF3", _read_annotation),
    ".gff3": ("GFF3", _read_annotation),
    ".vcf": ("VCF", _read_vcf),
}
"""By suffix in lower case."""
