"""Reading files: compressed or plain, from standard input, and in one line why it cannot be done."""

import contextlib
import errno
import fcntl
import gzip
import hashlib
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.file_formats import binary_format, text_format
from dna_bigbird.core.unpacking import RATIO, Allowance, CountedStream

GZIP_MAGIC = b"\x1f\x8b"
_BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_LOOK = 64
_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def sha256_of(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_text(path: Path) -> str:
    """Read a small text file in UTF-8, or raise InputError."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(
            f"{path}: this is not text in UTF-8 (byte 0x{byte:02x} at {error.start}). Save it as UTF-8"
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def check_readable(path: Path | str) -> None:
    """Open a file that a library will read: its own message may call a forbidden file damaged."""
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise unreadable(path, error) from error


def check_utf8_name(path: Path, library: str) -> None:
    """Raise InputError for a name that a C library cannot take: it would end the process."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{path}: {library} takes only names in UTF-8; rename the file or the folder"
        ) from error


def unreadable(path: Path | str, error: OSError) -> InputError:
    """Return the line for a file that the system does not let us read."""
    reasons = {
        errno.ENOENT: "no such file",
        errno.EISDIR: "this is a folder; expected a file",
        errno.EACCES: f"no permission to read it. See: ls -ld {path}",
    }
    return InputError(
        f"{path}: {reasons.get(error.errno or 0, f'cannot read it: {error.strerror or error}')}"
    )


def read_json(path: Path) -> dict:
    """Read a JSON object, or raise InputError."""
    return parse_json_object(read_text(path), path)


def parse_json_object(text: str, source: Path | str, advice: str = ". Copy it again") -> dict:
    """Return the object of a JSON text; see `parse_json`."""
    value = parse_json(text, source, advice)
    if not isinstance(value, dict):
        raise InputError(f"{source}: expected a JSON object, found {type(value).__name__}")
    return value


def parse_json(text: str, source: Path | str, advice: str = ". Copy it again") -> Any:
    """Return the value of a JSON text; a message begins with `source` and ends with `advice`."""
    try:
        value = json.loads(text)
        if _MAYBE_HALF.search(text):
            _check_whole_characters(value)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
        raise InputError(f"{source}: not valid JSON: {error}{advice}") from error
    return value


def _check_whole_characters(value: Any) -> None:
    """Raise ValueError for half of a character (\\ud83d alone): UTF-8 cannot store it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(f"{half!a} is half of a character") from None


def is_gzip(path: Path | str) -> bool:
    """Return True if a file starts like gzip (bgzip too), under any name."""
    with open(path, "rb") as stream:
        return stream.read(2) == GZIP_MAGIC


def _starts_as_bgzip(first: bytes) -> bool:
    return first[:4] == _BGZIP_END[:4] and first[12:14] == b"BC"


def check_random_access(path: Path | str) -> bool:
    """Return True for bgzip; raise InputError for FASTA as other gzip, read from front to back only."""
    if not (os.path.isfile(path) and is_gzip(path)):
        return False
    with open(path, "rb") as stream:
        if _starts_as_bgzip(stream.read(18)):
            return True
    if looks_like(path) in (None, "a FASTA file"):
        raise InputError(
            f"{path}: a genome is read at random and must be plain or bgzip FASTA; unpack it first: gunzip "
            f"{path}. Or pack it again: gunzip -c {path} | bgzip > NEW.fa.gz"
        )
    return False


def shown_name(path: Path | str) -> str:
    """Return how messages call an input: its path, or 'standard input' for '-'."""
    return "standard input" if str(path) == "-" else str(path)


def open_binary_or_stdin(path: Path | str):
    """Open a file, or standard input for '-'."""
    if str(path) == "-":
        _check_standard_input()
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except OSError as error:
        raise unreadable(path, error) from error


def _check_standard_input() -> None:
    """Raise InputError if the caller closed standard input (`<&-`)."""
    with contextlib.suppress(AttributeError, io.UnsupportedOperation):  # tests replace the stream
        if fcntl.fcntl(sys.stdin.fileno(), fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
            raise InputError("standard input is closed; send the data to it, or name a file")


class _WholeBgzip(io.RawIOBase):
    """The bytes of a bgzip file; they must end with the empty block that bgzip writes last."""

    # A file cut off between two blocks is whole gzip data; nothing else gives it away.

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name, self.last = stream, name, b""
        if stream.seekable():  # before any work; of a pipe the end comes last
            here = stream.tell()
            stream.seek(max(here, stream.seek(0, os.SEEK_END) - len(_BGZIP_END)))
            self._check(stream.read())
            stream.seek(here)

    def read(self, size: int = -1) -> bytes:
        data = self.stream.read(size)
        self.last = (self.last + data)[-len(_BGZIP_END) :]
        if not data:
            self._check(self.last)
        return data

    def _check(self, end: bytes) -> None:
        if end != _BGZIP_END:
            raise InputError(
                f"{self.name}: the end marker of bgzip is missing; the file is truncated. Copy it again"
            )


@contextlib.contextmanager
def open_binary(path: Path | str, ratio: int = RATIO) -> Iterator[BinaryIO]:
    """Open the unpacked bytes of a plain, gzip or bgzip file or of '-'; for `ratio` see `unpacking`."""
    raw = open_binary_or_stdin(path)
    buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
    name = shown_name(path)
    try:
        stream = buffered
        if buffered.peek(2)[:2] == GZIP_MAGIC:
            is_bgzip = _starts_as_bgzip(buffered.peek(14))
            stream = gzip.GzipFile(fileobj=_WholeBgzip(buffered, name) if is_bgzip else buffered)
        binary = io.BufferedReader(CountedStream(stream, Allowance(name, ratio)))
        if recognised := binary_format(binary.peek(_LOOK)[:_LOOK]):
            what, advice = recognised
            raise InputError(f"{name}: this is {what}; expected text, plain or gzip. {advice}")
        yield binary
    except EOFError as error:
        raise InputError(
            f"{name}: the gzip stream ends in the middle; the file is truncated. Copy it again"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name}: damaged gzip data ({error}). Copy it again") from error
    finally:
        if raw is not sys.stdin.buffer:
            raw.close()


LONGEST_ROW = 1 << 20
"""Characters of a row of a table, far more than any has."""
LONGEST_LINE = 1 << 26
"""Characters of a line that is a sequence or a text."""


def numbered_lines(
    path: Path | str, longest: int = LONGEST_ROW, ratio: int = RATIO
) -> Iterator[tuple[int, str]]:
    """Yield the lines of `open_text`, of at most `longest` characters, with their numbers, from 1."""
    shown = shown_name(path)
    with open_text(path, ratio) as text:
        lines = iter(lambda: text.readline(longest + 2), "")
        for number, line in enumerate(lines, start=1):
            if "\0" in line:
                raise InputError(
                    f"{shown}:{number}: this line has NUL bytes; expected text. Is it damaged?"
                )
            if len(line) > longest + 1:
                raise InputError(
                    f"{shown}:{number}: this line is longer than {longest:,} characters. "
                    "Were the line ends lost?"
                )
            yield number, line


@contextlib.contextmanager
def open_text(path: Path | str, ratio: int = RATIO) -> Iterator[TextIO]:
    """Open plain, gzip or bgzip text, or '-'; all lines end in LF, and a byte order mark is left out."""
    with open_binary(path, ratio) as binary:
        try:
            with io.TextIOWrapper(binary, encoding="utf-8-sig", newline=None) as text:
                yield text
        except UnicodeDecodeError as error:
            raise InputError(
                f"{shown_name(path)}: this is not text in UTF-8 (byte 0x{error.object[error.start]:02x}: {error.reason})"
            ) from error


def looks_like(path: Path | str) -> str | None:
    """Return what the first line of a text file, plain or compressed, looks like (`text_format`)."""
    # None for standard input and pipes, which can be read only once.
    if not Path(path).is_file():
        return None
    with contextlib.suppress(InputError, OSError), open_text(path) as text:
        return text_format(text.readline(1 << 16))
    return None
