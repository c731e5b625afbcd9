"""Whether the index of a FASTA file is that of its present content, without reading all of it.

An index lists for every record where its first base is and how long its lines are. From that
follows where the record ends, so between two records there is room for the header of the second one
and nothing else. This is checked for each record: a file whose records were changed, renamed,
reordered or rewrapped has other bytes there, even with an older time stamp.
"""

import bisect
import gzip
import mmap
import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

_MAX_CHECKED_PACKED = 1000
"""Records of a bgzip file that are checked, evenly spaced: for each one a block is unpacked."""
_END_BYTES = 1 << 16
"""Blanks and empty lines that may follow the last record."""


class IndexEntry(NamedTuple):
    """One record, as a line of a `.fai` file gives it."""

    length: int
    """Bases."""
    offset: int
    """Byte of the first base in the (unpacked) file."""
    line_bases: int
    line_bytes: int
    """Bytes of a full line with its end."""

    def byte(self, base: int) -> int:
        """Return the byte of a base in the file; both count from 0."""
        line, column = divmod(base, self.line_bases)
        return self.offset + line * self.line_bytes + column

    @property
    def end(self) -> int:
        """Byte after the last base."""
        return self.byte(self.length - 1) + 1


ReadBytes = Callable[[int, int], bytes]
"""Returns the bytes from one position to another, fewer at the end of the file."""


def fits_plain(entries: Mapping[str, IndexEntry], path: Path) -> bool:
    """Return True if an index is that of a plain FASTA file. Every record is checked.

    500,000 records take about two seconds.
    """
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _fits(list(entries.items()), lambda start, end: data[start:end], len(data))


def fits_packed(entries: Mapping[str, IndexEntry], path: Path, gzi: Path) -> bool:
    """Return True if the two indices (`.fai`, `.gzi`) are those of a bgzip FASTA file.

    At most `_MAX_CHECKED_PACKED` records are checked, the first and the last one among them.
    """
    try:
        with open(path, "rb") as stream:
            return _fits(list(entries.items()), _packed_reader(stream, gzi), None)
    except (OSError, EOFError, ValueError, struct.error, zlib.error):
        return False


def _fits(rows: list[tuple[str, IndexEntry]], read: ReadBytes, size: int | None) -> bool:
    """Check records in the order of the file; without `size` only some of them."""
    if not rows:
        return False
    rows.sort(key=lambda row: row[1].offset)
    step = 1 if size is not None else -(-len(rows) // _MAX_CHECKED_PACKED)
    numbers = {*range(0, len(rows), step), len(rows) - 1}
    for number in sorted(numbers):
        name, entry = rows[number]
        before = rows[number - 1][1].end if number else 0
        if not (before < entry.offset and (size is None or entry.end <= size)):
            return False
        if not _is_header(read(before, entry.offset), name, is_first=number == 0):
            return False
        if not _has_its_lines(entry, read):
            return False
    last = rows[-1][1]
    rest = read(last.end, last.end + _END_BYTES)
    return not rest.strip() and (size is None or size - last.end <= _END_BYTES)


def _is_header(between: bytes, name: str, *, is_first: bool) -> bool:
    """Return True if the bytes between two records are a line end, and the header of the second."""
    header = between.lstrip()
    ends_line = is_first or between[: len(between) - len(header)].count(b"\n") > 0
    words = header[1:].split(maxsplit=1)
    return (
        ends_line
        and header.startswith(b">")
        and header.count(b"\n") == 1
        and header.endswith(b"\n")
        and words[:1] == [name.encode()]
    )


def _has_its_lines(entry: IndexEntry, read: ReadBytes) -> bool:
    """Return True if the first line and the last base are where the index has them."""
    if not read(entry.offset, entry.offset + 1).strip():
        return False
    if not read(entry.end - 1, entry.end).strip():
        return False
    if entry.length <= entry.line_bases:
        return True
    line_end = read(entry.offset + entry.line_bases, entry.offset + entry.line_bytes)
    return line_end.endswith(b"\n") and not line_end.strip()


def _packed_reader(stream, gzi: Path) -> ReadBytes:
    """Return a function that reads the unpacked bytes of a bgzip file by its `.gzi` index."""
    content = gzi.read_bytes()
    (count,) = struct.unpack_from("<Q", content)
    numbers = struct.unpack_from(f"<{2 * count}Q", content, 8)
    packed, unpacked = [0, *numbers[0::2]], [0, *numbers[1::2]]

    def read(start: int, end: int) -> bytes:
        block = bisect.bisect_right(unpacked, start) - 1
        stream.seek(packed[block])
        with gzip.GzipFile(fileobj=stream) as text:
            text.read(start - unpacked[block])
            return text.read(end - start)

    return read
