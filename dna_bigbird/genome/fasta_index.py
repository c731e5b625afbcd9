"""The index of a FASTA file: where every record starts and how long its lines are."""

import bisect
import contextlib
import gzip
import mmap
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_binary
from dna_bigbird.genome.fasta_pieces import read_pieces

# Whether the index of a FASTA file is that of its present content, without reading all of it.
#
# An index lists for every record where its first base is and how long its lines are. From that
# follows where the record ends, so between two records there is room for the header of the second one
# and nothing else. This is checked for each record: a file whose records were changed, renamed,
# reordered or rewrapped has other bytes there, even with an older time stamp.

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


_VISIBLE = bytes(range(0x21, 0x7F))
"""What htslib counts as bases."""


def index_of(path: Path) -> dict[str, IndexEntry]:
    """Return the index of a plain FASTA file; written next to the file if missing or wrong.

    An index that fits the file stays, also one made by another program. One that is older than its
    file is compared with a new one and stays if both say the same. In a folder that cannot be
    written to a new index is for this process alone.

    Raises:
        InputError: As `read_pieces`; if the file has bytes other than letters, or lines of unequal length.
    """
    beside = Path(f"{path}.fai")
    entries = parsed_or_empty(beside)
    fits = bool(entries) and fits_plain(entries, path)
    if fits and _is_newer(beside, path):
        return entries
    with tempfile.TemporaryDirectory() as folder:
        new = Path(os.fsdecode(folder)) / beside.name  # pybedtools makes it bytes
        _make(path, new)
        _replace_if_other(new, beside)
        return _parse(new)


@contextlib.contextmanager
def packed_indices(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the two index files (`.fai`, `.gzi`) of a bgzip FASTA file, as `index_of` does."""
    beside = (Path(f"{path}.fai"), Path(f"{path}.gzi"))
    entries = parsed_or_empty(beside[0])
    if (
        entries
        and all(x.is_file() and _is_newer(x, path) for x in beside)
        and fits_packed(entries, path, beside[1])
    ):
        yield beside
        return
    with tempfile.TemporaryDirectory() as folder:
        new = tuple(Path(os.fsdecode(folder)) / x.name for x in beside)
        _make(path, new[0], "--gzi-idx", str(new[1]))
        for here, there in zip(new, beside, strict=True):
            _replace_if_other(here, there)
        yield new


def _is_newer(index: Path, path: Path) -> bool:
    return index.stat().st_mtime_ns >= path.stat().st_mtime_ns


def parsed_or_empty(fai: Path) -> dict[str, IndexEntry]:
    """Return the entries of an index; none if it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError):
        return _parse(fai)
    return {}


def _replace_if_other(new: Path, beside: Path) -> None:
    """Write a new index next to its file; if the old one says the same, only its time is renewed."""
    is_same = False
    with contextlib.suppress(OSError):
        is_same = beside.read_bytes() == new.read_bytes()
        if is_same:
            os.utime(beside)
    if not is_same:
        _put_beside(new, beside)


def _make(path: Path, fai: Path, *options: str) -> None:
    """Have htslib write an index.

    It skips records of an equal name, names no line and takes CR alone for no end of one, so that the file is read
    once before and the index compared with what was read.
    """
    import pysam

    lengths = {}
    for piece in read_pieces(path):
        lengths[piece.name] = piece.start + len(piece.letters)
        if foreign := piece.letters.translate(None, _VISIBLE):
            what = "NUL bytes" if 0 in foreign else f"bytes such as 0x{foreign[0]:02x}"
            raise InputError(
                f"{path}:{piece.line}: record {shortened(piece.name)!r} has {what}; expected DNA. "
                "Is the file damaged, or binary?"
            )
    verbosity = pysam.set_verbosity(0)  # or it prints lines of its own
    try:
        pysam.faidx(*map(os.fsencode, (path, "--fai-idx", fai, *options)))
    except pysam.SamtoolsError as error:
        raise InputError(_unequal_lines(path)) from error
    finally:
        pysam.set_verbosity(verbosity)
    if {name: entry.length for name, entry in parsed_or_empty(fai).items()} != lengths:
        raise InputError(_unequal_lines(path))


def _parse(fai: Path) -> dict[str, IndexEntry]:
    rows = (line.split("\t") for line in fai.read_text(encoding="utf-8").strip().split("\n"))
    entries = {
        name: IndexEntry(int(length), int(offset), int(line_bases), int(line_bytes))
        for name, length, offset, line_bases, line_bytes, *_ in rows
    }
    if not all(x.length > 0 and 0 < x.line_bases < x.line_bytes for x in entries.values()):
        raise ValueError("an entry without bases")
    return entries


def _put_beside(index: Path, beside: Path) -> None:
    """Copy an index next to its file, whole or not at all; leave it where that is not allowed."""
    partial = beside.with_name(f".{beside.name}.{os.getpid()}.partial")
    with contextlib.suppress(OSError):
        try:
            shutil.copyfile(index, partial)
            partial.replace(beside)
        finally:
            partial.unlink(missing_ok=True)


def _unequal_lines(path: Path) -> str:
    """Return which line does not let a record be read at random."""
    advice = "A genome is read at random; rewrite it: dna-bigbird genome --help"
    width, is_over = 0, False
    with open_binary(path) as stream:
        for number, line in enumerate(stream, start=1):
            letters = len(line.rstrip())
            if line.startswith(b">"):
                width, is_over = 0, False
            elif letters > (0 if is_over else width or letters):
                return (
                    f"{path}:{number}: this line has {letters:,} letters, and lines before it in "
                    f"its record have {width:,}, or fewer; expected lines of one length. {advice}"
                )
            else:
                width = width or letters
                is_over = letters < width
    return f"{path}: its lines end in more than one way, or in CR alone. {advice}"
