"""The one exception a user is meant to read, and what its messages share."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """Input the user can correct.

    The message is one line that names the file and line, what was found, what was
    expected and the likely fix. The command line prints it and exits with status 2.
    """


@contextmanager
def checked_settings() -> Iterator[None]:
    """Turn the ValueError of settings that contradict each other into an InputError."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


def shortened(value: object) -> str:
    """Return a value as text of at most 60 characters, for messages."""
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
