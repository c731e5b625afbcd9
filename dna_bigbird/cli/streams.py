"""Standard input, output and error of a command, also where the caller has closed them."""

import contextlib
import os
import sys

CLOSED = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_RDWR}
"""How a closed descriptor is opened again: reading standard input and writing standard output fail,
and no file that the command opens takes their number."""


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


def forget_standard_output() -> None:
    """Discard what is not written yet: Python would try, and complain, while it exits."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
