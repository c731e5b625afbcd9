"""What tarfile and zipfile pass over in a damaged archive: lost members, headers that fill the memory."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from dna_bigbird.core.files import GZIP_MAGIC
from dna_bigbird.core.unpacking import CHUNK, Allowance

LARGEST_HEADER = CHUNK
"""Bytes of the extended header of a tar member; real ones have some hundred."""
MOST_RECORDS = 1000
"""Entries of such a header; every member keeps a copy of the archive's own."""
COMPRESSIONS = {GZIP_MAGIC: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
"""First bytes of a compressed tar archive, and what reads it."""
BLOCK = tarfile.BLOCKSIZE
_ZIP_END = b"PK\x05\x06"
_LONGEST_END = 22 + 0xFFFF
"""Bytes of the record at the end of a zip archive, with a comment."""


class TarStream:
    """The unpacked bytes of a tar archive, for tarfile; an uncompressed one needs no `allowance`."""

    def __init__(self, stream: BinaryIO, allowance: Allowance | None) -> None:
        self.stream, self.allowance = stream, allowance
        self.largest_read: int | None = LARGEST_HEADER

    def read(self, count: int = -1) -> bytes:
        if self.largest_read is not None and not 0 <= count <= self.largest_read:
            raise tarfile.ReadError(f"a header of {count:,} bytes")
        content = self.stream.read(count)
        self._check(self.stream.tell())
        return content

    def seek(self, position: int) -> int:
        self._check(position)
        return self.stream.seek(position)

    def tell(self) -> int:
        return self.stream.tell()

    def _check(self, position: int) -> None:
        if self.allowance is not None and position > self.allowance.limit:
            raise self.allowance.refusal()

    def check_end(self, position: int) -> None:
        """Check that the archive ends with its mark: tarfile takes a damaged header for the end."""
        self.seek(position)
        if self.read(BLOCK) != bytes(BLOCK):
            raise tarfile.ReadError(f"it is cut off or damaged at byte {position:,}")
        while self.allowance is not None and self.read(CHUNK):
            pass


def tar_stream(raw: BinaryIO, allowance: Allowance | None = None) -> TarStream:
    """Return what tarfile reads of an archive: plain, or gzip, bzip2 or xz, within its `allowance`."""
    start = raw.read(8)
    raw.seek(0)
    unpack = next((x for magic, x in COMPRESSIONS.items() if start.startswith(magic)), None)
    return TarStream(unpack(raw), allowance) if unpack else TarStream(raw, None)


def tar_members(archive: tarfile.TarFile, stream: TarStream) -> Iterator[tarfile.TarInfo]:
    """Yield the regular files of a tar archive; after them large reads are allowed."""
    position = -1
    for member in archive:
        if member.size < 0 or archive.offset <= position:  # tarfile would go back, for ever
            raise tarfile.ReadError(f"a member of {member.size} bytes")
        if len(member.pax_headers) > MOST_RECORDS:
            raise tarfile.ReadError(f"a header with {len(member.pax_headers)} entries")
        position = archive.offset
        member.pax_headers = {}
        if member.isreg():
            yield member
    stream.check_end(archive.offset)
    stream.largest_read = None


def check_count(stream: BinaryIO, count: int) -> None:
    """Check that all entries of a zip archive were read: zipfile passes over a wrong number of them."""
    stream.seek(0, io.SEEK_END)
    stream.seek(max(0, stream.tell() - _LONGEST_END))
    _, _, end = stream.read().rpartition(_ZIP_END)
    said = int.from_bytes(end[6:8], "little")
    if said not in (count & 0xFFFF, 0xFFFF):  # the last one: more than it can say
        raise zipfile.BadZipFile(f"{count} entries, its end says {said}")
