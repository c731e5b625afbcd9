"""The index of a FASTA file, plain or bgzip, and the bytes that it finds.

htslib makes the index. Its reader (pysam.FastaFile) is not used: processes that are forked share its position in
the file and read wrong bases without an error.
"""

import bisect
import contextlib
import filecmp
import functools
import gzip
import io
import os
import shutil
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_binary
from dna_bigbird.genome.fasta_pieces import read_pieces

# Whether an index is that of the present content, without reading all of it: it lists for every record where its
# first base is and how long its lines are. From that follows where the record ends, so between two records there is
# room for the header of the second one and nothing else. A file whose records were changed, renamed, reordered or
# rewrapped has other bytes there, even with an older time stamp.

_MAX_CHECKED_PACKED = 1000
"""Records of a bgzip file that are checked, evenly spaced: for each one a block is unpacked."""
_END_BYTES = 1 << 16
"""Blanks and empty lines that may follow the last record."""
_BLOCK_BYTES = 1 << 16
"""Most of a block of bgzip, packed or not."""
_VISIBLE = bytes(range(0x21, 0x7F))
"""What htslib counts as bases."""


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


Blocks = tuple[list[int], list[int]]
"""Of a bgzip file: where each block starts in the file and unpacked, and the end of both."""


def read_bytes(file: int, blocks: Blocks | None, start: int, end: int) -> bytes:
    """Return the (unpacked) bytes of [start, end); the position of the open file is not used."""
    if blocks is None:
        return os.pread(file, end - start, start)
    packed, unpacked = blocks
    first, last = bisect.bisect_right(unpacked, start) - 1, bisect.bisect_left(unpacked, end)
    most = (last - first) * _BLOCK_BYTES
    data = os.pread(file, min(packed[last] - packed[first], most), packed[first])
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as text:
        whole = text.read(most + 1)  # beyond the last block, so that its checksum is compared
    return whole[start - unpacked[first] : end - unpacked[first]]


def _fits(entries: Mapping[str, IndexEntry], blocks: Blocks | None, path: Path) -> bool:
    """Return True if an index is that of a file; see `_MAX_CHECKED_PACKED`."""
    # 500,000 records of a plain file take about three seconds.
    with open(path, "rb") as stream, contextlib.suppress(OSError, EOFError, zlib.error):
        size = None if blocks else os.fstat(stream.fileno()).st_size
        read = functools.partial(read_bytes, stream.fileno(), blocks)
        return _records_fit(list(entries.items()), read, size)
    return False


def _records_fit(
    rows: list[tuple[str, IndexEntry]], read: Callable[[int, int], bytes], size: int | None
) -> bool:
    """Check records in the order of the file; without `size` only some of them."""
    rows.sort(key=lambda row: row[1].offset)
    step = 1 if size is not None else -(-len(rows) // _MAX_CHECKED_PACKED)
    for number in sorted({*range(0, len(rows), step), len(rows) - 1}):
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


def _has_its_lines(entry: IndexEntry, read: Callable[[int, int], bytes]) -> bool:
    """Return True if the first line and the last base are where the index has them."""
    if not (
        read(entry.offset, entry.offset + 1).strip() and read(entry.end - 1, entry.end).strip()
    ):
        return False
    if entry.length <= entry.line_bases:
        return True
    line_end = read(entry.offset + entry.line_bases, entry.offset + entry.line_bytes)
    return line_end.endswith(b"\n") and not line_end.strip()


def index_of(path: Path, is_packed: bool) -> tuple[dict[str, IndexEntry], Blocks | None]:
    """Return the index of a plain or bgzip FASTA file; written next to it if missing or wrong."""
    # An index that is older than its file is compared with a new one and stays if both say the
    # same. In a folder that cannot be written to a new index is for this process alone.
    beside = [Path(f"{path}{suffix}") for suffix in (".fai", ".gzi")[: 1 + is_packed]]
    with contextlib.suppress(OSError, ValueError, struct.error):
        index = _parse(path, *beside)
        is_older = any(x.stat().st_mtime_ns < path.stat().st_mtime_ns for x in beside)
        if not is_older and _fits(*index, path):
            return index
    with tempfile.TemporaryDirectory() as folder:
        new = [Path(os.fsdecode(folder)) / x.name for x in beside]  # pybedtools makes it bytes
        _make(path, *new)
        for here, there in zip(new, beside, strict=True):
            _replace_if_other(here, there)
        return _parse(path, *new)


def parsed_or_empty(fai: Path) -> dict[str, IndexEntry]:
    """Return the entries of an index; none if it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError):
        return _parse_fai(fai)
    return {}


def _replace_if_other(new: Path, beside: Path) -> None:
    """Write a new index next to its file; if the old one says the same, renew only its time."""
    # Where writing is not allowed nothing is changed.
    partial = beside.with_name(f".{beside.name}.{os.getpid()}.partial")
    with contextlib.suppress(OSError):
        if beside.is_file() and filecmp.cmp(new, beside, shallow=False):
            os.utime(beside)
            return
        try:
            shutil.copyfile(new, partial)
            partial.replace(beside)
        finally:
            partial.unlink(missing_ok=True)


def _make(path: Path, fai: Path, *gzi: Path) -> None:
    """Have htslib write an index."""
    # It skips records of an equal name, names no line and takes CR alone for no end of one: the
    # file is read once before and the index compared with what was read.
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
        options: tuple[str | Path, ...] = ("--gzi-idx", *gzi) if gzi else ()
        pysam.faidx(*map(os.fsencode, (path, "--fai-idx", fai, *options)))
        is_whole = {name: x.length for name, x in parsed_or_empty(fai).items()} == lengths
    except pysam.SamtoolsError:
        is_whole = False
    finally:
        pysam.set_verbosity(verbosity)
    if not is_whole:
        raise InputError(_unequal_lines(path))


def _parse(path: Path, fai: Path, *gzi: Path) -> tuple[dict[str, IndexEntry], Blocks | None]:
    return _parse_fai(fai), _parse_gzi(gzi[0], path.stat().st_size) if gzi else None


def _parse_fai(fai: Path) -> dict[str, IndexEntry]:
    rows = (line.split("\t") for line in fai.read_text(encoding="utf-8").strip().split("\n"))
    entries = {
        name: IndexEntry(int(length), int(offset), int(line_bases), int(line_bytes))
        for name, length, offset, line_bases, line_bytes, *_ in rows
    }
    if not all(x.length > 0 and 0 < x.line_bases < x.line_bytes for x in entries.values()):
        raise ValueError("an entry without bases")
    return entries


def _parse_gzi(gzi: Path, size: int) -> Blocks:
    """Read count and pairs of numbers, little-endian; the first block is not among them."""
    content = gzi.read_bytes()
    (count,) = struct.unpack_from("<Q", content)
    numbers = struct.unpack_from(f"<{2 * count}Q", content, 8)
    packed, unpacked = [0, *numbers[0::2], size], [0, *numbers[1::2], sys.maxsize]
    if packed != sorted(packed) or unpacked != sorted(unpacked):
        raise ValueError("blocks in another order")
    return packed, unpacked


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
