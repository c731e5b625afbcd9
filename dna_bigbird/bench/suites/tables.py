"""Tables of the suites with a header: text between tabs or commas, or Parquet; cells by column name."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bench.suites.suite import LabelledRows
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import LONGEST_LINE, check_readable, numbered_lines
from dna_bigbird.core.plain_numbers import shortest, whole_number
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.splits import TEST, VALIDATION
from dna_bigbird.models.label_types import MULTI_CLASS

# Rows of tasks whose label is the number of a class, as GUE and the Nucleotide Transformer tasks have.


def class_row(
    path: Path, line: int, part: str, letters: str, label: str, classes: int
) -> SequenceRow:
    """Return a row: bases in upper case, the number of the class as text.

    Args:
        line: Line or row in the file, from 1.
        part: Such as `train`; begins the row's name.
        letters: N and lower case are accepted; IUPAC codes become N, U becomes T.
        classes: Labels are 0 to classes - 1.

    Raises:
        InputError: With file and line, if there are no letters or other letters, or the label is not one
            of the numbers.
    """
    where = f"{path}:{line}"
    if not letters:
        raise InputError(f"{where}: no sequence; expected letters of DNA")
    number = whole_number(shortest(label))
    if number is None or not 0 <= number < classes:
        raise InputError(
            f"{where}: the label is {shortened(label)!r}; expected a whole number from 0 to {classes - 1}, "
            "the number of the class"
        )
    bases = dna_of(FastaRecord(part, letters, line), path)
    return SequenceRow(bases, (str(number),), where, f"{part}:{line}")


def labelled_classes(rows: list[SequenceRow], roles: Sequence[int], classes: int) -> LabelledRows:
    """Return the rows of a task with how many were read, and how many classes have no training row.

    Raises:
        InputError: If a class has training rows and no test row: the score would be one of fewer classes.
    """
    splits: NDArray[np.int8] = np.array(roles, dtype=np.int8)
    counts = {"rows_read": len(rows)}
    is_training = (splits != TEST) & (splits != VALIDATION)
    training = {rows[i].labels[0]: rows[i] for i in np.flatnonzero(is_training)[::-1]}
    tested = {rows[i].labels[0] for i in np.flatnonzero(splits == TEST)}
    for label in sorted(training.keys() - tested):
        path = rows[int(np.argmax(splits == TEST))].where.rpartition(":")[0]
        raise InputError(
            f"{path}: no row of class {label}, which {training[label].where} has; expected test rows of "
            "every class, or the score would be one of fewer classes. Is the copy complete?"
        )
    if len(training) < classes:
        counts["classes_without_training_rows"] = classes - len(training)
    return LabelledRows(rows, splits, MULTI_CLASS, counts=counts)


LABELS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
BASES = frozenset("ACGT")


@dataclass(frozen=True)
class TableVariant:
    """One row as the file has it, its position counted from 1."""

    where: str
    chrom: str
    pos: int
    ref: str
    alt: str
    label: bool
    group: str = ""

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What identifies a variant."""
        return self.chrom, self.pos, self.ref, self.alt

    @property
    def is_substitution(self) -> bool:
        """Whether one base replaces another."""
        return len(self.ref) == len(self.alt) == 1


def position(text: str, column: str, where: str, *, least: int) -> int:
    """Return a position; InputError if it is not a whole number from `least` on."""
    number = whole_number(text)
    if number is None or number < least:
        raise InputError(
            f"{where}: {column} is {shortened(text)!r}; expected a whole number, counted from {least}"
        )
    return number


def label_of(text: str, where: str) -> bool:
    """Return whether a variant is positive; InputError if the label is not 0, 1, True or False."""
    if text.lower() not in LABELS:
        raise InputError(
            f"{where}: label is {shortened(text)!r}; expected True or False, or 1 or 0: is this the "
            "column of another name?"
        )
    return LABELS[text.lower()]


def allele(text: str, column: str, where: str) -> str:
    """Return the bases of an allele in upper case; InputError if it is not spelt in A C G T."""
    if not text or not BASES.issuperset(text.upper()):
        raise InputError(f"{where}: {column} is {shortened(text)!r}; expected bases, A C G T")
    return text.upper()


def check_both_labels(variants: Sequence[TableVariant], path: Path) -> None:
    """Raise InputError if the positives or the negatives are missing."""
    positives = sum(variant.label for variant in variants)
    if not 0 < positives < len(variants):
        raise InputError(
            f"{path}: {positives} of {len(variants)} variants have the label True; expected both labels. Is the "
            "copy complete?"
        )


PARQUET = ".parquet"
TABLE_ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", PARQUET)
Cells = dict[str, str]


def read_table(
    path: Path, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, Cells]]:
    """Yield the line (of Parquet: the row, from 1) and the cells of each row, without blanks around them.

    Args:
        columns: Needed columns; their order and further columns are free.
        optional: Columns that are read where the header has them.

    Raises:
        InputError: With file and line, if the file is empty, a needed column is missing or repeated, a
            row has another number of cells than the header, or there is no row.
    """
    rows = _parquet_rows if path.name.endswith(PARQUET) else _text_rows
    number = 0
    for number, cells in rows(path, columns, optional):
        yield number, cells
    if not number:
        raise InputError(f"{path}: no row after the header; is the copy complete?")


def _text_rows(
    path: Path, columns: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[int, Cells]]:
    lines = (line for _, line in numbered_lines(path, LONGEST_LINE))
    first = next(lines, "")
    if not first.strip():
        raise InputError(f"{path}:1: the file is empty; expected a header with {','.join(columns)}")
    mark = "\t" if "\t" in first else ","
    header = [name.strip() for name in first.split(mark)]
    _check_header(header, columns, f"{path}:1")
    positions = {name: header.index(name) for name in (*columns, *optional) if name in header}
    reader = csv.reader(lines, delimiter=mark)
    try:
        for cells in reader:
            line = reader.line_num + 1
            if not any(cells):
                continue
            if len(cells) != len(header):
                raise InputError(
                    f"{path}:{line}: {len(cells)} cell{'s' * (len(cells) != 1)}; the header has "
                    f"{len(header)} columns"
                )
            yield line, {name: cells[i].strip() for name, i in positions.items()}
    except csv.Error as error:
        raise InputError(
            f"{path}:{reader.line_num + 1}: this row is not a row of a table: {error}"
        ) from error


def _check_header(header: Sequence[str], columns: Sequence[str], where: str) -> None:
    for name in columns:
        if header.count(name) != 1:
            problem = "two columns are called" if name in header else "no column is called"
            raise InputError(
                f"{where}: {problem} {name}; the header is {shortened(','.join(header))}, expected "
                f"{','.join(columns)}"
            )


def _parquet_rows(
    path: Path, columns: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[int, Cells]]:
    """Yield row numbers from 1, and cells as text; a missing value is an empty cell."""
    check_readable(path)
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(path)
        header = file.schema_arrow.names
        _check_header(header, columns, str(path))
        names = [name for name in (*columns, *optional) if name in header]
        number = 0
        for batch in file.iter_batches(columns=names):
            values = [batch.column(name).to_pylist() for name in names]
            for cells in zip(*values, strict=True):
                number += 1
                yield number, {name: _text(cell) for name, cell in zip(names, cells, strict=True)}
    except (ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{path}: this is not a whole Parquet file: {shortened(error)}. Copy it again"
        ) from error


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def check_length(start: int, end: int, expected_bp: int, where: str) -> None:
    """Raise InputError if an interval has another length, as one whose start is from 1."""
    length = end - start
    if length != expected_bp:
        raise InputError(
            f"{where}: start {start} and end {end} span {length} bp; expected {expected_bp}, starts counted from 0 and "
            "ends left out. If this file counts from 1, subtract 1 from every start"
        )
