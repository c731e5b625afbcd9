"""Errors for the user, and what their messages share."""

import os
import sys
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dna_bigbird.core.extras import advice
from dna_bigbird.core.messages import for_reader, named_as_options, printable, short_enough

TRACEBACK = "DNA_BIGBIRD_TRACEBACK"
"""Environment variable: if it is set and not empty, an error shows its traceback."""


def notebook_lines(error: BaseException) -> list[str]:
    """Return what IPython shows of an error, as its `_render_traceback_`: one line, no traceback."""
    if os.environ.get(TRACEBACK):
        return traceback.format_exception(error)
    return [f"{type(error).__name__}: {error}"]


class InputError(Exception):
    """Input the user can correct.

    The message is one line that names the file and line, what was found, what was
    expected and the likely fix. The command line prints it and exits with status 2. Control
    characters, such as those of a name in a file, are escaped in it, and long values are cut.
    """

    def __init__(self, message: str = "", *rest: object) -> None:
        super().__init__(printable(short_enough(str(message))), *rest)

    _render_traceback_ = notebook_lines


class OutputError(InputError):
    """An output that cannot be written: the disk is full, or the folder read-only.

    Args:
        reason: The system's words alone.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class MissingExtraError(InputError, ImportError):
    """A package that only some functions need is not installed; the message has the pip command."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM in a run that can go on; the message says how.

    Args:
        status: Exit status of the command.
    """

    def __init__(self, message: str, status: int = 130) -> None:
        super().__init__(message)
        self.status = status

    _render_traceback_ = notebook_lines


_notes_shown: ContextVar[bool] = ContextVar("notes_shown", default=True)


@contextmanager
def notes_hidden() -> Iterator[None]:
    """Print no notes in the block: of steps that a command repeats many times."""
    before = _notes_shown.set(False)
    try:
        yield
    finally:
        _notes_shown.reset(before)


def note(text: str) -> None:
    """Tell the user something that is not an error, as one line on standard error."""
    if not _notes_shown.get():
        return
    print(f"dna-bigbird: note: {for_reader(text)}", file=sys.stderr)


@contextmanager
def errors_for_reader() -> Iterator[None]:
    """Let an InputError name options of the running command; in Python, arguments."""
    try:
        yield
    except ModuleNotFoundError as error:
        if text := advice(error.name or ""):
            raise MissingExtraError(text) from error
        raise
    except InputError as error:
        error.args = (for_reader(str(error)), *error.args[1:])
        raise


@contextmanager
def command_line(options: Collection[str]) -> Iterator[None]:
    """Run a command: notes and an InputError name its options."""
    with named_as_options(options), errors_for_reader():
        yield


@contextmanager
def checked_settings() -> Iterator[None]:
    """Turn the ValueError of settings that contradict each other into an InputError."""
    try:
        yield
    except InputError:  # a ChoiceError is a ValueError, too
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def check_named(**values: object) -> None:
    """Raise InputError for the first option without a value that has no default."""
    # In Python such options have the default None because they follow an optional one.
    for name, value in values.items():
        if value is None:
            raise InputError(f"--{name} is missing")


def shortened(value: object) -> str:
    """Return a value as text of at most 60 characters, for messages."""
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
