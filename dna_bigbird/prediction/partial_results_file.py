"""The file of finished rows: a sequence of frames, each with a checksum.

    MAGIC, then frames: length (8 bytes) and CRC-32 (4 bytes) of the payload, little-endian; payload

The first frame holds the identity of the run as JSON, every other one columns of equal length: a
line of JSON (names, types, shapes), then the bytes of the arrays. A frame is believed only if its
checksum fits, so a kill at any byte loses at most the frame that was being written.
"""

import contextlib
import itertools
import json
import math
import os
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.writing import readable_write_error

MAGIC = b"dna-bigbird rows 1\n"
FRAME = struct.Struct("<QI")


class Spool:
    """Rows in an open file; `dna_bigbird.prediction.partial_results.open_spool` makes it.

    Attributes:
        output: The file that the rows are for.
        rows: Rows in it, those of an interrupted run included.
        resumed: There were rows of an interrupted run, or its settings differ.
    """

    def __init__(self, output: Path, stream: BinaryIO) -> None:
        self.output, self._stream = output, stream
        self.rows = 0
        self.resumed = False
        self._offsets: list[int] = []
        self._end = 0

    def append(self, columns: Mapping[str, NDArray], ragged: Collection[str] = ()) -> None:
        """Add rows: arrays of one length and any type except objects.

        Args:
            ragged: Columns, not the first, with another length: a row has several entries there.

        Raises:
            OutputError: If they could not be written; the rows before stay.
        """
        arrays = {name: np.ascontiguousarray(array) for name, array in columns.items()}
        lengths = {len(array) for name, array in arrays.items() if name not in ragged}
        if len(lengths) != 1 or any(array.dtype.hasobject for array in arrays.values()):
            raise ValueError(f"expected columns of one length and without objects: {lengths}")
        described = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
        values = b"".join(array.tobytes() for array in arrays.values())
        self._offsets.append(self._write(json.dumps(described).encode() + b"\n" + values))
        self.rows += lengths.pop()

    def frames(self) -> Iterator[dict[str, NDArray]]:
        """Yield the columns of every `append`, in order; the arrays are read-only.

        Raises:
            InputError: If the file has changed since it was opened.
        """
        for offset in self._offsets:
            payload = self._payload(offset)
            if payload is None:
                raise InputError(
                    f"{self.output}: its finished rows are damaged at byte {offset}; start again without --resume"
                )
            yield {
                column.name: np.frombuffer(payload, column.dtype, column.size, column.offset)
                .reshape(column.shape)
                for column in columns_of(payload)
            }  # fmt: skip

    def column(self, name: str) -> "StoredColumn":
        """Return a column whose rows can be read in any order; nothing may be appended after."""
        return StoredColumn(self._stream, list(self._located(name)))

    def pieces(self, name: str) -> Iterator[NDArray]:
        """Yield one column of every `append`, in order, reading nothing else."""
        for offset, column in self._located(name):
            size = column.size * np.dtype(column.dtype).itemsize
            raw = os.pread(self._stream.fileno(), size, offset)
            yield np.frombuffer(raw, column.dtype).reshape(column.shape)

    def _located(self, name: str) -> Iterator[tuple[int, "_Column"]]:
        """Yield the byte at which a column begins in each frame, and its type and shape."""
        for offset in self._offsets:
            self._stream.seek(offset + FRAME.size)
            start = self._stream.read(FRAME.size + 1024)
            while b"\n" not in start:
                start += self._stream.read(1024)
            column = next(column for column in columns_of(start) if column.name == name)
            yield offset + FRAME.size + column.offset, column

    def start(self, identity: dict) -> None:
        """Empty the file and start a run of this identity."""
        self._stream.truncate(0)
        self._end = 0
        self._write_all(MAGIC)
        self._write(json.dumps(identity, sort_keys=True).encode())
        self._offsets, self.rows = [], 0

    def recover(self) -> dict | None:
        """Read the complete frames, cut off the rest, and return the identity of the run that wrote them.

        Returns:
            None if there is nothing to continue.
        """
        self._stream.seek(0)
        offset, end, identity = len(MAGIC), 0, None
        is_spool = self._stream.read(offset) == MAGIC
        while is_spool and (payload := self._payload(offset)) is not None:
            if identity is None:
                identity = json.loads(payload)
            else:
                self._offsets.append(offset)
                self.rows += columns_of(payload)[0].shape[0]
            offset = end = offset + FRAME.size + len(payload)
        if lost := os.fstat(self._stream.fileno()).st_size - end:
            note(
                f"{self.output}: the last {lost:,} bytes of its finished rows are incomplete or damaged; "
                "their rows are computed again"
            )
        self._stream.truncate(end)
        self._end = end
        return identity

    def _payload(self, offset: int) -> bytes | None:
        """Return the payload of the frame at a byte, None if there is no complete frame."""
        self._stream.seek(offset)
        header = self._stream.read(FRAME.size)
        if len(header) < FRAME.size:
            return None
        length, checksum = FRAME.unpack(header)
        # Zeros are what a disk may hold after a power cut, and their checksum would be right.
        if not 0 < length <= os.fstat(self._stream.fileno()).st_size - offset - FRAME.size:
            return None
        payload = self._stream.read(length)
        return payload if len(payload) == length and zlib.crc32(payload) == checksum else None

    def _write(self, payload: bytes) -> int:
        """Add a frame and return the byte where it begins."""
        offset = self._end
        self._write_all(FRAME.pack(len(payload), zlib.crc32(payload)) + payload)
        return offset

    def _write_all(self, data: bytes) -> None:
        """Write all of it at the end or, as far as the disk allows, nothing."""
        self._stream.seek(self._end)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._stream.truncate(self._end)
            raise readable_write_error(self.output, error) from error
        self._end += len(data)


class StoredColumn:
    """One column of a spool, read from the disk row by row."""

    def __init__(self, stream: BinaryIO, frames: list[tuple[int, "_Column"]]) -> None:
        if len({(column.dtype, column.shape[1:]) for _, column in frames}) != 1:
            raise ValueError("the type of this column differs between its frames")
        self._stream = stream
        self._bytes = np.array([offset for offset, _ in frames], np.int64)
        counts = [column.shape[0] for _, column in frames]
        self._first_rows = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.dtype = np.dtype(frames[0][1].dtype)
        self.shape = (int(self._first_rows[-1]), *frames[0][1].shape[1:])

    def read(self, rows: NDArray[np.int64]) -> NDArray:
        """Return rows by number, in the order asked; neighbours are read together."""
        result = np.empty((len(rows), *self.shape[1:]), self.dtype)
        row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        frames = np.searchsorted(self._first_rows, rows, side="right") - 1
        starts = self._bytes[frames] + (rows - self._first_rows[frames]) * row_bytes
        breaks = np.flatnonzero(np.diff(starts) != row_bytes) + 1
        edges = [0, *breaks.tolist(), len(rows)] if len(rows) else [0]
        for first, last in itertools.pairwise(edges):
            raw = os.pread(self._stream.fileno(), (last - first) * row_bytes, starts[first])
            result[first:last] = np.frombuffer(raw, self.dtype).reshape(-1, *self.shape[1:])
        return result


@dataclass(frozen=True)
class _Column:
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    """Byte of the payload where the array begins."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def columns_of(payload: bytes) -> list[_Column]:
    """Return what the first line of a frame says of its columns."""
    line = payload[: payload.index(b"\n")]
    offset, columns = len(line) + 1, []
    for name, dtype, shape in json.loads(line):
        columns.append(_Column(name, dtype, tuple(shape), offset))
        offset += columns[-1].size * np.dtype(dtype).itemsize
    return columns
