"""Standard input, output and error of a command, also if the caller has closed them."""

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TextIO

from dna_bigbird.core.errors import OutputError
from dna_bigbird.core.messages import printable

CLOSED = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_RDWR}
"""How a closed descriptor is opened again: reading from input and writing to output fail, and no other
file gets the number."""


def open_closed_streams() -> None:
    """Open the standard streams that were closed (`<&-`, `>&-`, `2>&-`)."""
    for descriptor, mode in CLOSED.items():
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open as long as the process
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def write_utf8() -> None:
    """Write tables as UTF-8 in every locale; a file name that is not UTF-8 is written as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


class _Wrapped:
    """A text stream in place of another one, with a `write` of its own."""

    def __init__(self, stream: TextIO, kept: str = "") -> None:
        self._stream, self._kept = stream, kept

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


class PrintableStream(_Wrapped):
    """A text stream to a terminal: control characters but `kept` ones are written as escapes."""

    def write(self, text: str) -> int:
        """Write a text, and return how many characters it has."""
        self._stream.write(printable(text, self._kept))
        return len(text)


def protect_terminal() -> None:
    """Escape control characters on a terminal; files and pipes get every name unchanged."""
    for name, kept in (("stdout", ""), ("stderr", "\r")):  # progress bars begin with \r
        stream = getattr(sys, name)
        if stream.isatty() and not isinstance(stream, PrintableStream):
            setattr(sys, name, PrintableStream(stream, kept))


_errors: ContextVar[TextIO | None] = ContextVar("errors", default=None)


def error_stream() -> TextIO:
    """Return where errors are written: standard error, also within `errors_only`."""
    return _errors.get() or sys.stderr


@contextlib.contextmanager
def errors_only() -> Iterator[None]:
    """Discard what the block writes to `sys.stderr`; `error_stream` still returns that stream."""
    token = _errors.set(sys.stderr)
    try:
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            contextlib.redirect_stderr(nowhere),
        ):
            yield
    finally:
        _errors.reset(token)


def forget_standard_output() -> None:
    """Discard unwritten output; otherwise Python would try to write it, and warn, on exit."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


class _Output(_Wrapped):
    """Standard output whose errors name it."""

    def write(self, text: str) -> int:
        with _output_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        with _output_errors():
            self._stream.flush()


@contextlib.contextmanager
def named_standard_output() -> Iterator[None]:
    """Report a failed write to standard output; flush it when the block ends."""
    stream = sys.stdout
    sys.stdout = _Output(stream)
    try:
        try:
            yield
        except SystemExit as end:  # --help ends this way
            if not end.code:
                sys.stdout.flush()
            raise
        sys.stdout.flush()
    finally:
        sys.stdout = stream


@contextlib.contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output: cannot write to it: {error.strerror}") from error
