"""Values per base along a genome: bigWig and bedGraph files."""

import math
import tempfile
from array import array
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.plain_numbers import decimal_number, whole_number

BIGWIG = (b"\x26\xfc\x8f\x88", b"\x88\x8f\xfc\x26")
"""First bytes, in either order."""
ROWS_AT_ONCE = 1 << 20
BEDGRAPH = "chromosome, start, end, value"


class Signal(Protocol):
    """A file with values of bases."""

    ends: dict[str, int]
    """Of each chromosome with a value its length, or the end of its last row; named as in the file."""
    has_lengths: bool
    """Whether `ends` are lengths of chromosomes."""

    def values(self, chrom: str, start: int, end: int) -> NDArray[np.float32]:
        """Return the value of each base in [start, end), NaN without a row."""
        ...


class BigWig:
    """A bigWig file."""

    has_lengths = True

    def __init__(self, path: Path) -> None:
        import pyBigWig

        try:
            self._file = pyBigWig.open(str(path))
        except RuntimeError:
            raise InputError(
                f"{path}: a bigWig file that cannot be read; is it cut short?"
            ) from None
        self._path = path
        # A header may list chromosomes without a value.
        self.ends = {
            chrom: length
            for chrom, length in self._file.chroms().items()
            if self._file.stats(chrom, 0, length, type="coverage")[0]
        }

    def values(self, chrom: str, start: int, end: int) -> NDArray[np.float32]:
        """Return the value of each base in [start, end), NaN without a row; past the end too."""
        last = min(end, self._file.chroms(chrom))
        result = np.full(end - start, np.nan, np.float32)
        if start < last:
            try:
                result[: last - start] = self._file.values(chrom, start, last, numpy=True)
            except RuntimeError:
                raise InputError(
                    f"{self._path}: {chrom}:{start + 1}-{last} cannot be read; is the file damaged?"
                ) from None
        return result


class BedGraph:
    """A bedGraph file, plain or gzip, sorted; its rows are kept in temporary files of 12 bytes each."""

    has_lengths = False

    def __init__(self, path: Path) -> None:
        self.ends: dict[str, int] = {}
        self._rows: dict[str, slice] = {}
        columns = [array("i"), array("i"), array("f")]
        files = [tempfile.TemporaryFile() for _ in columns]  # noqa: SIM115 - open as long as the object
        count, before = 0, ""
        for number, line in numbered_lines(path):
            if is_header(line):
                continue
            where = f"{path}:{number}"
            chrom, start, end, value = _row_of(line, where)
            if chrom != before and chrom in self.ends:
                raise InputError(
                    f"{where}: {chrom} again after {before}; sort the file: sort -k1,1 -k2,2n"
                )
            if chrom == before and start < self.ends[chrom]:
                raise InputError(
                    f"{where}: starts at {start}, before the end {self.ends[chrom]} of the row above; expected rows "
                    "that are sorted and share no base"
                )
            for column, x in zip(columns, (start, end, value), strict=True):
                column.append(x)
            count += 1
            first = count - 1 if chrom != before else self._rows[chrom].start
            self._rows[chrom] = slice(first, count)
            self.ends[chrom], before = end, chrom
            if len(columns[0]) == ROWS_AT_ONCE:
                _move(columns, files)
        if not count:
            raise InputError(f"{path}: no row in it; expected {BEDGRAPH}")
        _move(columns, files)
        self._columns = [
            np.memmap(file, dtype, "r") for file, dtype in zip(files, "iif", strict=True)
        ]

    def values(self, chrom: str, start: int, end: int) -> NDArray[np.float32]:
        """Return the value of each base in [start, end), NaN without a row."""
        starts, ends, values = (column[self._rows[chrom]] for column in self._columns)
        here = slice(np.searchsorted(ends, start, "right"), np.searchsorted(starts, end))
        first = np.maximum(starts[here], start).astype(np.int64) - start
        lengths = np.minimum(ends[here], end) - start - first
        begins = np.cumsum(lengths) - lengths
        result = np.full(end - start, np.nan, np.float32)
        bases = np.repeat(first - begins, lengths) + np.arange(lengths.sum())
        result[bases] = np.repeat(values[here], lengths)
        return result


def _move(columns: list[array], files: list) -> None:
    for column, file in zip(columns, files, strict=True):
        column.tofile(file)
        file.flush()
        del column[:]


def _row_of(line: str, where: str) -> tuple[str, int, int, float]:
    fields = line.split()
    numbers = [whole_number(x) for x in fields[1:3]]
    value = decimal_number(fields[3]) if len(fields) == 4 else None
    if value is None or None in numbers or not math.isfinite(value):
        raise InputError(f"{where}: {shortened(line.strip())!r}; expected {BEDGRAPH}")
    start, end = numbers
    if not 0 <= start < end < 2**31:
        raise InputError(
            f"{where}: the interval {start}-{end} has no base; expected 0 <= start < end"
        )
    return fields[0], start, end, value


def is_header(line: str) -> bool:
    """Return True for a line of a bedGraph file that is not a row."""
    return not line.strip() or line.startswith(("#", "track", "browser"))


def is_bigwig(path: Path) -> bool:
    """Return True if a file begins as bigWig files do."""
    with open(path, "rb") as stream:
        return stream.read(4) in BIGWIG


def is_signal(path: Path) -> bool:
    """Return True for a bigWig file, and for text whose first row has an interval and a value."""
    if is_bigwig(path):
        return True
    line = next((line for _, line in numbered_lines(path) if not is_header(line)), "")
    fields = line.split()
    return len(fields) == 4 and None not in map(decimal_number, fields[1:])


def open_signal(path: Path) -> Signal:
    """Open a bigWig or bedGraph file; a bedGraph is read whole and checked."""
    return BigWig(path) if is_bigwig(path) else BedGraph(path)
