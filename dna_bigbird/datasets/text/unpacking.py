"""How much compressed text may grow: a file of a few megabytes must not fill the memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, TextIO

from dna_bigbird.errors import InputError
from dna_bigbird.files import numbered_lines

RATIO = 20
"""Text, tables and JSON become at most about ten times smaller; a file that fills the memory must become
hundreds of times smaller."""
LEAST_BYTES = 256 * 2**20
"""Small files may grow to this, with any ratio."""
CHUNK = 1 << 20
_limit_gib: ContextVar[float] = ContextVar("limit_gib", default=0.0)


@contextmanager
def unpacked_limit(gib: float) -> Iterator[None]:
    """Set how much each file that is read in the block may become, in GiB.

    Args:
        gib: 0: `RATIO` times the file's size on disk, at least `LEAST_BYTES`.

    Raises:
        InputError: If it is negative or not finite.
    """
    if not 0 <= gib < 2**30:
        raise InputError(f"--max_unpacked_gib {gib}: expected GiB, or 0 for the default")
    token = _limit_gib.set(gib)
    try:
        yield
    finally:
        _limit_gib.reset(token)


class Allowance:
    """Counts the unpacked bytes of one file.

    Args:
        path: The file, which may be compressed.

    Attributes:
        limit: Bytes that may be read; infinite for a pipe, whose size nobody knows, unless
            `unpacked_limit` says it.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path
        self.used = 0
        packed = _size_on_disk(Path(path))
        chosen = int(_limit_gib.get() * 2**30)
        self.limit = chosen or (
            float("inf") if packed is None else max(LEAST_BYTES, RATIO * packed)
        )

    def take(self, count: int) -> None:
        """Count bytes.

        Raises:
            InputError: If they are more than the file may become.
        """
        self.used += count
        if self.used > self.limit:
            raise self.refusal()

    def refusal(self) -> InputError:
        """Return the line for a file that becomes too large."""
        limit = self.limit / 2**30
        return InputError(
            f"{self.path}: unpacked it is larger than {limit:.3g} GiB, far more than text of its size. "
            f"If you trust it: --max_unpacked_gib {max(1, round(4 * limit))}"
        )


def read_limited(stream: BinaryIO | TextIO, allowance: Allowance) -> bytes | str:
    """Return what is left of a stream, never much more than it may have.

    Raises:
        InputError: If it has more.
    """
    chunks = []
    while chunk := stream.read(CHUNK):
        allowance.take(len(chunk))
        chunks.append(chunk)
    return (b"" if not chunks else chunks[0][:0]).join(chunks)


def limited_lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines as `files.numbered_lines`; they too may not become more than `Allowance` has.

    Raises:
        InputError: As `numbered_lines`; if the file becomes too large.
    """
    allowance = Allowance(path)
    for number, line in numbered_lines(path):
        allowance.take(len(line))
        yield number, line


def _size_on_disk(path: Path) -> int | None:
    """Return the bytes that a file takes; less than its length if it has holes. None for a pipe."""
    if not path.is_file():
        return None
    status = path.stat()
    stored = status.st_blocks * 512
    return min(status.st_size, stored) if stored else status.st_size
