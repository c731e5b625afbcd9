"""Tables of variants of a suite: parquet, TSV or CSV with a header."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import numbered_lines

PARQUET = ".parquet"
TEXT_ENDINGS = (".tsv", ".csv", ".tsv.gz", ".csv.gz")
ENDINGS = (PARQUET, *TEXT_ENDINGS)
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


def table_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield file and row, and the row by column as text, of a parquet file or a table of text.

    Args:
        needed: Columns that the file must have.

    Raises:
        InputError: If a column is missing or a row has another number of columns.
        ModuleNotFoundError: If the file is parquet and pyarrow is not installed (`extras.advice`).
    """
    return _parquet_rows(path, needed) if path.name.endswith(PARQUET) else _text_rows(path, needed)


def _parquet_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError) as error:
        reason = shortened(str(error).splitlines()[0])
        raise InputError(f"{path}: not a parquet file: {reason}. Copy it again") from error
    _check_columns(f"{path}", table.column_names, needed)
    columns = [table.column(name).to_pylist() for name in table.column_names]
    for number, cells in enumerate(zip(*columns, strict=True), start=1):
        texts = ("" if cell is None else str(cell) for cell in cells)
        yield f"{path}, row {number}", dict(zip(table.column_names, texts, strict=True))


def _text_rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    lines = numbered_lines(path)
    header_line = next(lines, (1, ""))[1].rstrip("\n")
    delimiter = "\t" if "\t" in header_line else ","
    header = [name.strip() for name in next(csv.reader([header_line], delimiter=delimiter), [])]
    _check_columns(f"{path}:1", header, needed)
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{path}:{number}"
        cells = next(csv.reader([line.rstrip("\n")], delimiter=delimiter))
        if len(cells) != len(header):
            raise InputError(f"{where}: {len(cells)} columns, the header has {len(header)}")
        yield where, dict(zip(header, (cell.strip() for cell in cells), strict=True))


def _check_columns(where: str, header: Sequence[str], needed: Sequence[str]) -> None:
    for name in needed:
        if list(header).count(name) != 1:
            raise InputError(
                f"{where}: {list(header).count(name) or 'no'} column {name!r}; expected "
                f"{', '.join(needed)}, and the header is {shortened(', '.join(header)) or 'empty'}"
            )


def whole_number(text: str, column: str, where: str, *, least: int) -> int:
    """Return a position.

    Raises:
        InputError: If it is not a whole number from `least` on.
    """
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise InputError(
            f"{where}: {column} is {shortened(text)!r}; expected a whole number, counted from {least}"
        )
    return int(text)


def label_of(text: str, where: str) -> bool:
    """Return whether a variant is positive.

    Raises:
        InputError: If the label is not 0, 1, True or False.
    """
    if text.lower() not in LABELS:
        raise InputError(
            f"{where}: label is {shortened(text)!r}; expected True or False, or 1 or 0: is this the "
            "column of another name?"
        )
    return LABELS[text.lower()]


def allele(text: str, column: str, where: str) -> str:
    """Return the bases of an allele in upper case.

    Raises:
        InputError: If it is not spelt in A C G T.
    """
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
