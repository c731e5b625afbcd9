"""Sequences with labels as users have them: tables, one FASTA file per class, BED files."""

import csv
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import LONGEST_LINE, looks_like, numbered_lines
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import BedRow, check_inside, read_bed
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of, read_fasta

FASTA, BED = "a FASTA file", "a BED file"
USUAL_BED_COLUMN = 4
CHROMOSOME_COLUMNS = ("region", "chrom", "chr", "chromosome", "seqnames")
"""Names of the first column of an interval in a table with a header: `region` in Genomic Benchmarks."""
_ENDING = re.compile(
    r"\.(gz|bgz|fa|fasta|fna|bed|narrowPeak|broadPeak|csv|tsv|txt)$", re.IGNORECASE
)


@dataclass(frozen=True)
class SequenceColumns:
    """Which columns of a table are read, and how sequences are written."""

    sequence: str = "sequence"
    labels: tuple[str, ...] = ()
    """Empty: the usual ones."""
    group: str = ""
    """Column of texts; rows of one text stay in one split. Empty: none."""
    kmers: int = 0
    """Letters of the overlapping words that sequences are written as; 0: plain sequences."""

    @property
    def label_names(self) -> tuple[str, ...]:
        """Label columns of a table."""
        return self.labels or ("label",)


@dataclass(frozen=True)
class SequenceRow:
    """One sequence with its labels as text."""

    sequence: str
    """Over A C G T N, as the row's strand reads it."""
    labels: tuple[str, ...]
    where: str
    """File and line, for messages."""
    name: str
    group: str = ""
    interval: Interval | None = None


LabelledInterval = tuple[BedRow, tuple[str, ...], str]
"""Where a row is in the genome, its labels as text, and its group."""


@dataclass(frozen=True)
class SequenceFile:
    """One input: a table or a BED file with labels, or any file whose rows are one class."""

    path: Path
    class_name: str = ""
    """Class of all rows; empty if the rows have labels."""
    role: str = "input"

    def rows(self, columns: SequenceColumns, genome: Genome | None) -> Iterator[SequenceRow]:
        """Yield the rows in the order of the file."""
        what = looks_like(self.path)
        header = [] if what in (FASTA, BED) else interval_columns(self.path, columns.sequence)
        if what == FASTA:
            yield from self._fasta_rows()
        elif genome is not None:
            rows = self._interval_rows(header, columns) if header else self._bed_rows(columns)
            yield from self._in_genome(list(rows), genome)
        elif what == BED or header:
            raise InputError(
                f"{self.path}: {what or 'a table of intervals'} has no bases; add --genome GENOME.fa"
            )
        else:
            yield from self._table_rows(columns)

    def _fasta_rows(self) -> Iterator[SequenceRow]:
        for record in read_fasta(self.path):
            where = f"{self.path}:{record.line}"
            yield SequenceRow(dna_of(record, self.path), (self.class_name,), where, record.name)

    def _bed_rows(self, columns: SequenceColumns) -> Iterator[LabelledInterval]:
        numbers = [] if self.class_name else _bed_columns(columns)
        for row in read_bed(self.path):
            yield row, tuple(_bed_cell(row, number) for number in numbers), ""

    def _interval_rows(
        self, header: Sequence[str], columns: SequenceColumns
    ) -> Iterator[LabelledInterval]:
        names = () if self.class_name else columns.label_names
        needed = [*header, *names, *([columns.group] if columns.group else [])]
        for line, cells in _cells(self.path, needed):
            own, rest = cells[: len(header)], [text.strip() for text in cells[len(header) :]]
            interval = written_interval(*own, where=f"{self.path}:{line}")
            row = BedRow(interval, "", "", line)
            yield row, tuple(rest[: len(names)]), rest[-1] if columns.group else ""

    def _in_genome(self, rows: Sequence[LabelledInterval], genome: Genome) -> Iterator[SequenceRow]:
        check_inside((row for row, _, _ in rows), genome, self.path)
        for row, labels, group in rows:
            where = f"{self.path}:{row.line_number}"
            interval = replace(row.interval, chrom=genome.resolve(row.interval.chrom))
            name = f"{self.role}:{row.line_number}"
            bases = genome.fetch(interval)
            yield SequenceRow(bases, labels or (self.class_name,), where, name, group, interval)

    def _table_rows(self, columns: SequenceColumns) -> Iterator[SequenceRow]:
        needed = [columns.sequence, *(() if self.class_name else columns.label_names)]
        needed += [columns.group] if columns.group else []
        for line, cells in _cells(self.path, needed):
            where = f"{self.path}:{line}"
            letters = cells[0].strip()
            if columns.kmers:
                letters = joined_words(letters, columns.kmers, where)
            if not letters:
                raise InputError(f"{where}: nothing in the column {columns.sequence}")
            sequence = dna_of(FastaRecord(f"row {line}", letters, line), self.path)
            labels = (self.class_name,) if self.class_name else cells[1:]
            group = cells[-1].strip() if columns.group else ""
            if columns.group and not self.class_name:
                labels = labels[:-1]
            labels = tuple(label.strip() for label in labels)
            yield SequenceRow(sequence, labels, where, f"{self.role}:{line}", group)


def sequence_files(
    paths: Path | Sequence[Path], role: str, *, classes_by_file: bool = False
) -> list[SequenceFile]:
    """Return the inputs of a role; `NAME=FILE` names a class, as a FASTA file does by itself."""
    files = []
    for text in [paths] if isinstance(paths, str | Path) else paths:
        path, name = Path(text), ""
        if not path.exists() and "=" in str(path):
            name, _, rest = str(path).partition("=")
            path = Path(rest.strip())
            if not name.strip() or not rest.strip():
                raise InputError(f"--{role} {text}: expected NAME=FILE")
        if not path.is_file():
            raise InputError(f"--{role} {path}: no such file")
        if not name and (classes_by_file or looks_like(path) == FASTA):
            name = _stem(path)
        files.append(SequenceFile(path, name.strip(), role))
    return files


def joined_words(text: str, length: int, where: str = "") -> str:
    """Return the sequence that is written as overlapping words of so many letters.

    Example:
        >>> joined_words("ACG CGT GTT", 3)
        'ACGTT'
    """
    words = text.split()
    for number, word in enumerate(words):
        before = words[number - 1]
        if len(word) != length or (number and before[1:] != word[:-1]):
            raise InputError(
                f"{where}: word {number + 1}, {shortened(word)!r}, does not continue {before!r} as "
                f"overlapping words of {length} letters do; is --kmers {length} right?"
            )
    return "".join([words[0], *(word[-1] for word in words[1:])]) if words else ""


def _stem(path: Path) -> str:
    name = path.name
    while (shorter := _ENDING.sub("", name)) not in (name, ""):
        name = shorter
    return name


def interval_columns(path: Path, sequence: str) -> list[str]:
    """Return the columns of chromosome, start, end and, if any, strand of a table without sequences; else none."""
    header, _ = _header(numbered_lines(path, LONGEST_LINE))
    chroms = [name for name in CHROMOSOME_COLUMNS if name in header]
    if sequence in header or not chroms or not {"start", "end"} <= set(header):
        return []
    return [chroms[0], "start", "end", *(["strand"] if "strand" in header else [])]


def written_interval(
    chrom: str, first: str, last: str, strand: str = "", *, where: str
) -> Interval:
    """Return a 0-based, half-open interval that is written in cells; without a strand it is on +.

    Raises:
        InputError: At `where`, if a number or the strand is none.
    """
    start, end = whole_number(first.strip()), whole_number(last.strip())
    if start is None or end is None or not 0 <= start < end:
        raise InputError(
            f"{where}: start {shortened(first)!r} and end {shortened(last)!r}; expected whole numbers, counted "
            "from 0, the end above the start"
        )
    if strand.strip() not in ("", "+", "-"):
        raise InputError(f"{where}: strand {shortened(strand)!r}; expected +, - or nothing")
    return Interval(chrom.strip(), start, end, strand.strip() or "+")


def _header(lines: Iterator[tuple[int, str]]) -> tuple[list[str], str]:
    """Return the names of the columns of a table, and what separates them."""
    _, line = next(lines, (1, ""))
    delimiter = next((x for x in "\t;," if x in line), ",")
    (header,) = csv.reader([line], delimiter=delimiter) if line else ([],)
    return [name.strip() for name in header], delimiter


def _cells(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line and the needed cells of every row of a table with a header."""
    csv.field_size_limit(LONGEST_LINE)
    numbered = numbered_lines(path, LONGEST_LINE)
    header, delimiter = _header(numbered)
    for name in needed:
        if header.count(name) != 1:
            raise InputError(
                f"{path}:1: {header.count(name) or 'no'} column{'s' * (name in header)} {name!r} in the "
                f"header; it has {shortened(', '.join(header)) or 'nothing'}. Name the columns with "
                "--sequence_column and --label_columns; of files of one class each: --classes_by_file true"
            )
    positions = [header.index(name) for name in needed]
    reader = csv.reader((line for _, line in numbered), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                line = reader.line_num + 1
                if len(cells) != len(header):
                    comma = " Is there a decimal comma? Write 0.5" if _splits_number(cells) else ""
                    raise InputError(
                        f"{path}:{line}: {len(cells)} columns, the header has {len(header)}.{comma}"
                    )
                yield line, tuple(cells[position] for position in positions)
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num + 1}: not a table: {error}") from error


def _splits_number(cells: Sequence[str]) -> bool:
    """Return True if two cells next to each other may be the parts of `0,5`."""
    is_whole = [whole_number(cell.strip()) is not None for cell in cells]
    return any(map(operator.and_, is_whole, is_whole[1:]))


def _bed_columns(columns: SequenceColumns) -> list[int]:
    """Return the numbers of the label columns of a BED file, from 1."""
    texts = columns.labels or (str(USUAL_BED_COLUMN),)
    numbers = []
    for text in texts:
        number = whole_number(text)
        if number is None or number < USUAL_BED_COLUMN:
            raise InputError(
                f"--label_columns {text}: columns of a BED file have numbers, from 4 on; without it "
                "the label is in column 4"
            )
        numbers.append(number)
    return numbers


def _bed_cell(row: BedRow, number: int) -> str:
    strand = "" if row.interval.strand == "." else row.interval.strand
    cells = (row.name, row.score, strand, *row.extra)
    return cells[number - 4] if number - 4 < len(cells) else ""
