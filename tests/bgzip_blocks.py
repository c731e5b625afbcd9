"""bgzip files in blocks of any size, written by hand after the SAM specification (section 4.1)."""

import struct
import zlib

END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzip(content: bytes, block_bytes: int) -> tuple[bytes, list[int]]:
    """Return the file, and where its blocks end; the last end is that of the whole file."""
    packed, ends = b"", []
    for start in range(0, len(content), block_bytes):
        block = content[start : start + block_bytes]
        deflate = zlib.compressobj(wbits=-15)
        data = deflate.compress(block) + deflate.flush()
        packed += END[:16] + struct.pack("<H", len(data) + 25) + data
        packed += struct.pack("<II", zlib.crc32(block), len(block))
        ends.append(len(packed))
    return packed + END, [*ends, len(packed) + len(END)]


def cuts_of(content: bytes, block_bytes: int = 16) -> list[bytes]:
    """Return the file cut at every border of blocks, and at three places within each."""
    packed, ends = bgzip(content, block_bytes)
    places = {end - inside for end in ends for inside in (0, 1, 5, 13)} - {len(packed)}
    return [packed[:place] for place in sorted(places)]
