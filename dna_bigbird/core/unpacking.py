"""How much compressed text may grow: a file of a few megabytes must not fill the memory."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, TextIO

from dna_bigbird.core.errors import InputError

RATIO = 20
"""Text, tables and JSON become at most about ten times smaller; a file that fills the memory must become
hundreds of times smaller."""
LEAST_BYTES = 256 * 2**20
"""Small files may grow to this, with any ratio."""
CHUNK = 1 << 20
_limit_gib: ContextVar[float | None] = ContextVar("limit_gib", default=None)
"""None: the command has no option for it."""


@contextmanager
def unpacked_limit(gib: float) -> Iterator[None]:
    """Set how many GiB each file read in the block may become; 0: by `RATIO` and `LEAST_BYTES`."""
    token = _limit_gib.set(gib)
    try:
        yield
    finally:
        _limit_gib.reset(token)


class Allowance:
    """Counts the unpacked bytes of a file; the `limit` of a pipe, whose size nobody knows, is infinite."""

    def __init__(self, path: Path | str, ratio: int = RATIO) -> None:
        self.path = path
        self.used = 0
        packed = _size_on_disk(Path(path))
        chosen = int((_limit_gib.get() or 0) * 2**30)
        self.limit = chosen or (
            float("inf") if packed is None else max(LEAST_BYTES, ratio * packed)
        )

    def take(self, count: int) -> None:
        """Count bytes, or raise InputError if they are more than the file may become."""
        self.used += count
        if self.used > self.limit:
            raise self.refusal()

    def refusal(self) -> InputError:
        """Return the line for a file that becomes too large."""
        limit = self.limit / 2**30
        advice = f"gunzip {self.path}"
        if _limit_gib.get() is not None:
            advice = f"--max_unpacked_gib {max(1, round(4 * limit))}"
        return InputError(
            f"{self.path}: unpacked it is larger than {limit:.3g} GiB, far more than text of its size. "
            f"If you trust it: {advice}"
        )


class CountedStream(io.RawIOBase):
    """The unpacked bytes of a stream: no more than the file may have."""

    def __init__(self, stream: BinaryIO, allowance: Allowance) -> None:
        self.stream, self.allowance = stream, allowance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        count = self.stream.readinto1(buffer)
        self.allowance.take(count)
        return count


def read_limited(stream: BinaryIO | TextIO, allowance: Allowance) -> bytes | str:
    """Return what is left of a stream, never much more than it may have."""
    chunks = []
    while chunk := stream.read(CHUNK):
        allowance.take(len(chunk))
        chunks.append(chunk)
    return (b"" if not chunks else chunks[0][:0]).join(chunks)


def _size_on_disk(path: Path) -> int | None:
    """Return the bytes that a file takes; less than its length if it has holes. None for a pipe."""
    if not path.is_file():
        return None
    status = path.stat()
    stored = status.st_blocks * 512
    return min(status.st_size, stored) if stored else status.st_size
