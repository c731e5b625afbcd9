"""BED files: reading, checking against a genome, start sites.

BED counts from 0 and leaves the end out, as everything inside this package does.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.file_formats import text_format
from dna_bigbird.core.files import numbered_lines, open_binary, shown_name
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome.chromosome_names import counted_names
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval, StartSite

PIECES = "If the FASTA holds only the first part of the chromosome, say so: --pieces true"
EPD_SPAN_BP = 60
"""EPD draws a promoter as -49..+10 around its start site; columns 7 and 8 span the site and what follows."""


@dataclass(frozen=True)
class BedRow:
    """One line: interval (strand '.' if not given), columns 4 and 5 as text, all later columns."""

    interval: Interval
    name: str
    score: str
    line_number: int
    extra: tuple[str, ...] = ()


def read_bed(path: Path | str) -> list[BedRow]:
    """Read a whole BED file; see `iter_bed`."""
    return list(iter_bed(path))


def iter_bed(path: Path | str) -> Iterator[BedRow]:
    """Yield the rows of a BED file with three columns or more, plain, gzip or bgzip."""
    # Columns are separated by tabs, or by any blanks on a line without a tab.
    shown = shown_name(path)
    is_first = True
    for number, raw in numbered_lines(path):
        line = raw.strip()
        if not line:
            continue
        if is_first and (what := text_format(line) or "a BED file") != "a BED file":
            raise InputError(f"{shown}:{number}: this looks like {what}; expected a BED file")
        is_first = False
        if not line.startswith("#") and line.split(None, 1)[0] not in ("track", "browser"):
            yield _parse(line, f"{shown}:{number}", number)


def _parse(line: str, where: str, number: int) -> BedRow:
    fields = [field.strip() for field in line.split("\t")] if "\t" in line else line.split()
    if len(fields) < 3:
        raise InputError(
            f"{where}: {len(fields)} column{'s' * (len(fields) != 1)}, expected at least 3 "
            "(chromosome, start, end) between tabs or blanks. Is this a BED file?"
        )
    start, end = (_whole(fields[i], what, where) for i, what in ((1, "start"), (2, "end")))
    if start < 0:
        raise InputError(f"{where}: start {start} is negative; the first base of a BED file is 0")
    if start == end:
        raise InputError(
            f"{where}: start and end are both {start}, an empty row. BED starts count from 0 and "
            "ends are left out; if this file counts from 1, subtract 1 from every start"
        )
    if start > end:
        raise InputError(f"{where}: start {start} is beyond end {end}; expected start < end")
    strand = fields[5] if len(fields) > 5 else "."
    if strand not in ("+", "-", "."):
        raise InputError(
            f"{where}: strand (column 6) is {shortened(strand)!r}, expected '+', '-' or '.'"
        )
    name, score = (fields[i] if len(fields) > i else "." for i in (3, 4))
    return BedRow(Interval(fields[0], start, end, strand), name, score, number, tuple(fields[6:]))


def _whole(text: str, what: str, where: str) -> int:
    if (number := whole_number(text)) is not None:
        return number
    raise InputError(
        f"{where}: {what} is {shortened(text)!r}, expected a whole number. "
        "Is this a header? Put '#' in front of it"
    )


Row = TypeVar("Row", BedRow, StartSite)


@dataclass(frozen=True)
class Placed(Generic[Row]):
    """Rows on a genome, named as it names its chromosomes, and how many were left out."""

    rows: list[Row]
    absent: int
    """Rows on chromosomes that the genome does not have."""
    beyond: int
    """Rows past the end of a chromosome where the genome has only a piece of it."""


def place_on_genome(
    rows: Iterable[Row], genome: Genome, path: Path | str, *, pieces: bool = False
) -> Placed[Row]:
    """Put BED rows or start sites on a genome; those not on it are left out with a note."""
    names: dict[str, str | None] = {}
    kept: list[Row] = []
    absent: Counter[str] = Counter()
    beyond = 0
    for row in rows:
        chrom = row.interval.chrom
        if chrom not in names:
            names[chrom] = genome.find(chrom)
        name = names[chrom]
        if name is None:
            absent[chrom] += 1
        elif row.interval.end > genome.lengths[name]:
            if not pieces:
                raise beyond_error(row, genome, name, path)
            beyond += 1
        else:
            kept.append(
                row if name == chrom else replace(row, interval=replace(row.interval, chrom=name))
            )
    if not kept:
        raise InputError(_nothing_placed(path, genome, names, beyond))
    note_absent(path, genome, absent, "rows")
    return Placed(kept, absent.total(), beyond)


def note_absent(path: Path | str, genome: Genome, absent: Mapping[str, int], rows: str) -> None:
    """Note which chromosomes a genome lacks, with the number of rows on each, if there are any."""
    if absent:
        note(
            f"{path}: left out, because {genome.path.name} lacks the chromosome: "
            f"{counted_names(absent, rows)}"
        )


def check_inside(rows: Iterable[BedRow], genome: Genome, path: Path | str) -> None:
    """Raise InputError at the first row that is not wholly on the genome."""
    for row in rows:
        try:
            name = genome.resolve(row.interval.chrom)
        except InputError as error:
            raise InputError(f"{path}:{row.line_number}: {error}") from None
        if row.interval.end > genome.lengths[name]:
            raise beyond_error(row, genome, name, path, advice="Leave out such rows, or cut them")


def beyond_error(
    row: Row, genome: Genome, name: str, path: Path | str, *, advice: str = PIECES
) -> InputError:
    """Return the error for a row that ends beyond the chromosome that the genome calls `name`."""
    return InputError(
        f"{path}:{row.line_number}: end {row.interval.end:,} is beyond the end of {name} "
        f"({genome.lengths[name]:,} bp in {genome.path.name}). Is it on another assembly? {advice}"
    )


def _nothing_placed(
    path: Path | str, genome: Genome, names: dict[str, str | None], beyond: int
) -> str:
    if not names:
        return f"{path}: no row in it; expected at least one"
    if beyond:
        return f"{path}: none of its rows is inside {genome.path.name}"
    in_file, there = (", ".join(list(x)[:5]) for x in (names, genome.lengths))
    reason = next(filter(None, map(genome.why_not, names)), "")
    return (
        f"{path}: none of its chromosomes ({in_file}) is in {genome.path.name} (it has {there}){reason}. "
        "Is this the right genome?"
    )


def start_site(row: BedRow, path: Path | str) -> Interval:
    """Return the 1-bp interval of the start site that a row describes, with its strand."""
    # A row of 60 bp with columns 7 and 8 is in EPD's own geometry (UCSC's track has the same): the
    # site is column 7 on '+', column 8 minus 1 on '-'.
    here, where = row.interval, f"{path}:{row.line_number}"
    if here.strand == ".":
        raise InputError(f"{where}: no strand (column 6); a start site needs '+' or '-'")
    if here.length == 1:
        return here
    if here.length != EPD_SPAN_BP or len(row.extra) < 2:
        raise InputError(
            f"{where}: the row is {here.length} bp wide; expected the start site alone (1 bp), "
            f"or EPD's {EPD_SPAN_BP}-bp rows with the site in columns 7 and 8. "
            "Genes and transcripts can be given as GTF or GFF"
        )
    thick_start = _whole(row.extra[0], "column 7", where)
    thick_end = _whole(row.extra[1], "column 8", where)
    site = thick_start if here.strand == "+" else thick_end - 1
    if not here.start <= site < here.end:
        raise InputError(
            f"{where}: the start site {site} (columns 7 and 8) lies outside the row "
            f"({here.start}-{here.end})"
        )
    return Interval(here.chrom, site, site + 1, here.strand)


_COLUMNS = [("chrom", "S64"), ("start", "i8"), ("end", "i8"), ("name", "S64")]
_ROW = rb"(?:(?!#|track\t|browser\t)[!-~]{1,64}\t[0-9]{1,10}\t[0-9]{1,10}%b(?:\n|\Z))++"
_REGULAR = (
    re.compile(_ROW % b""),
    re.compile(_ROW % rb"\t[!-~]{1,64}(?:\t[ -~]*(?:\t[+.-](?:\t[\t -~]*)?)?)?"),
)
"""Whole files without and with names that are read at once."""


@dataclass(frozen=True)
class BedColumns:
    """n rows of a BED file, 0-based and half-open, in the file's order."""

    chromosomes: list[str]
    """Each name once."""
    chrom: NDArray[np.int64]
    """(n,), place in `chromosomes`."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    names: list[str]
    """Each text of column 4 once; '.' where a row has none."""
    name: NDArray[np.int64]
    """(n,), place in `names`."""

    def __len__(self) -> int:
        return len(self.start)

    def unnamed_line(self, path: Path) -> int | None:
        """Return the first line of their file without a name in column 4."""
        if "." not in self.names and "" not in self.names:
            return None
        return next(x.line_number for x in iter_bed(path) if x.name in (".", ""))


def read_columns(path: Path) -> BedColumns:
    """Read a BED file whole; the same rows as `read_bed`, at some ten times the speed."""
    # A whole-genome chromatin set has some 46 million peaks: a Python object for each takes
    # gigabytes.
    columns = None
    if path.is_file():
        with open_binary(path) as stream:
            columns = _parse_columns(stream.read())
    return _from_rows(path) if columns is None else columns


def _from_rows(path: Path) -> BedColumns:
    rows = read_bed(path)
    chromosomes = {x: i for i, x in enumerate(dict.fromkeys(r.interval.chrom for r in rows))}
    names = {x: i for i, x in enumerate(dict.fromkeys(r.name for r in rows))}
    table = [
        (chromosomes[r.interval.chrom], r.interval.start, r.interval.end, names[r.name])
        for r in rows
    ]
    chrom, start, end, name = np.array(table, dtype=np.int64).reshape(-1, 4).T
    return BedColumns(list(chromosomes), chrom, start, end, list(names), name)


def _parse_columns(content: bytes) -> BedColumns | None:
    """Parse tab-separated ASCII lines, all with a name or all without; None for anything else."""
    first = content.partition(b"\n")[0]
    is_named = first.count(b"\t") > 2
    if not _REGULAR[is_named].fullmatch(content):
        return None
    if text_format(first.decode()) not in (None, "a BED file"):
        return None
    columns = _COLUMNS[: 3 + is_named]
    table = np.loadtxt(
        io.BytesIO(content), columns, None, "\t", usecols=range(len(columns)), ndmin=1
    )
    start, end = table["start"].copy(), table["end"].copy()
    if (start >= end).any():
        return None
    names = _texts(table["name"]) if is_named else (["."], np.zeros(len(table), np.int64))
    return BedColumns(*_texts(table["chrom"]), start, end, *names)


def _texts(column: NDArray[np.bytes_]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts and which row has which."""
    # Rows of one chromosome mostly follow each other: only the first of each stretch is looked up.
    is_new = np.append(True, column[1:] != column[:-1])
    distinct, which = np.unique(column[is_new], return_inverse=True)
    return [x.decode() for x in distinct.tolist()], which.reshape(-1)[np.cumsum(is_new) - 1]


def place_columns(
    rows: BedColumns, genome: Genome, path: Path, *, pieces: bool = False
) -> tuple[NDArray[np.int64], list[str | None], Counter[str], int]:
    """As `place_on_genome`: indices of rows, the genome's names of their chromosomes, left out."""
    on_genome = [genome.find(chrom) for chrom in rows.chromosomes]
    length = np.array([genome.lengths[x] if x else -1 for x in on_genome])[rows.chrom]
    absent, beyond = length < 0, (length >= 0) & (rows.end > length)
    kept = np.flatnonzero(~absent & ~beyond)
    if not len(kept) or (beyond.any() and not pieces):
        place_on_genome(iter_bed(path), genome, path, pieces=pieces)  # raises, and names the line
    numbers = np.bincount(rows.chrom[absent], minlength=len(rows.chromosomes)).tolist()
    names = Counter({x: n for x, n in zip(rows.chromosomes, numbers, strict=True) if n})
    return kept, on_genome, names, int(beyond.sum())
