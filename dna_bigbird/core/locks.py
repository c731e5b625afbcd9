"""Kernel locks: held by one living process, freed by the kernel when that process is killed."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Literal

from dna_bigbird.core.errors import InputError

_held: set[int] = set()
"""Descriptors of the locks of this process."""


def _release_in_child() -> None:
    """Close the locks that a fork copied: a child that outlives its killed parent must not hold them."""
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)


def lock(stream: IO) -> Literal["held", "busy", "unsupported"]:
    """Lock an open file until it is closed; "unsupported" if the file system has no locks."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "busy"
    except OSError:
        return "unsupported"
    return "held"


def is_file_at(path: Path, stream: IO) -> bool:
    """Return True if the open file is still the one with this name; a holder may have deleted it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def in_this_process(stream: IO) -> Iterator[None]:
    """Keep a locked file from being inherited by a fork."""
    _held.add(stream.fileno())
    try:
        yield
    finally:
        _held.discard(stream.fileno())


@contextlib.contextmanager
def kernel_lock(path: Path, busy: str | None) -> Iterator[BinaryIO]:
    """Yield a file, created if missing, locked by this process; `busy` is the message, None: wait."""
    # If the process is killed, the kernel frees it. Where a file system has no locks, nothing is held.
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # its holder has just removed the folder
            continue
        with open(descriptor, "r+b", buffering=0) as stream:
            if lock(stream) == "busy":
                if busy is not None:
                    raise InputError(busy)
                fcntl.flock(stream, fcntl.LOCK_EX)
            if is_file_at(path, stream):
                with in_this_process(stream):
                    yield stream
                return
