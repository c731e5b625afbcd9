"""Scratch folders: where an output is written until it is complete.

    .NAME.TOKEN.partial/     next to the output NAME; the token is drawn for each folder
        lock                 held (kernel lock) as long as the process lives
        …                    the unfinished output
        old                  the folder that was replaced, where two folders cannot be exchanged

Two processes never share a scratch folder, so nothing they write can mix, on any file
system. Where it supports locks, the second process is refused. A killed process leaves its scratch
folder; the next one that writes the same output removes it.
"""

import contextlib
import ctypes
import errno
import hashlib
import os
import random
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.locks import in_this_process, is_file_at, lock

LOCK, OLD = "lock", "old"
ATTEMPTS = 20
"""Processes that start at the same instant see each other; each gives way for a random moment."""
LONGEST_NAME = 200
"""Bytes of a name that a scratch folder repeats; a file system allows 255 in all."""
_SCRATCH = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.partial", re.DOTALL)
_claimed: dict[Path, Path] = {}
"""Scratch folders of this process by output."""


def real_path(path: Path | str) -> Path:
    """Return the file or folder that is written under a name: links are followed."""
    return Path(os.path.realpath(path))


@contextlib.contextmanager
def claim(target: Path) -> Iterator[None]:
    """Keep other processes from writing an output during the block; missing folders above are created."""
    target = real_path(target)
    if target in _claimed:
        yield
        return
    with _parents(target.parent):
        folder, stream = _claim(target)
        _claimed[target] = folder
        try:
            with in_this_process(stream):
                yield
        finally:
            del _claimed[target]
            remove_scratch(folder)
            stream.close()


@contextlib.contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder on the file system of an output, which this process claims meanwhile."""
    target = real_path(target)
    with claim(target):
        folder = Path(tempfile.mkdtemp(dir=_claimed[target]))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def replace_folder(new: Path, target: Path, scratch: Path) -> None:
    """Put a folder in place of another one; a kill at any moment leaves one of them whole."""
    if not target.exists():
        new.replace(target)
    elif not _exchange(new, target):
        old = scratch.parent / OLD
        target.rename(old)
        new.replace(target)
        _remove(old)


def remove_dead_scratch(parent: Path) -> None:
    """Remove the scratch folders of killed processes from a folder."""
    for folder in _scratch_folders(parent):
        _is_alive(folder)


def remove_scratch(folder: Path) -> None:
    """Remove a scratch folder, its lock last: without one nobody could tell whose it is."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.name != LOCK:
            _remove(entry)
    _remove(folder)


def _claim(target: Path) -> tuple[Path, IO]:
    for _ in range(ATTEMPTS):
        created = _create(target)
        if created is None:
            continue
        folder, stream = created
        others = [
            other for other in _scratch_folders(target.parent, target.name) if other != folder
        ]
        if not any([_is_alive(other, target) for other in others]):
            return created
        remove_scratch(folder)
        stream.close()
        time.sleep(random.uniform(0, 0.02))
    raise InputError(
        f"{target}: another process is writing it; wait until it ends, or name another output"
    )


def _create(target: Path) -> tuple[Path, IO] | None:
    """Create and lock a scratch folder; None if another process has just removed it."""
    name = f".{_short(target.name)}.{secrets.token_hex(6)}.partial"
    folder = target.with_name(name)
    folder.mkdir(parents=True)
    try:
        stream = open(folder / LOCK, "w")  # noqa: SIM115 - closed by the owner of the claim
    except FileNotFoundError:
        return None
    except BaseException:
        remove_scratch(folder)
        raise
    if lock(stream) != "busy" and is_file_at(folder / LOCK, stream):
        return folder, stream
    stream.close()
    return None


def _short(name: str) -> str:
    if len(os.fsencode(name)) <= LONGEST_NAME:
        return name
    return hashlib.sha256(os.fsencode(name)).hexdigest()


def _scratch_folders(parent: Path, name: str | None = None) -> list[Path]:
    """Return the scratch folders in a folder: of all outputs, or of one."""
    folders = []
    with contextlib.suppress(FileNotFoundError), os.scandir(parent) as entries:
        for entry in entries:
            match = _SCRATCH.fullmatch(entry.name)
            if match and (name is None or match["name"] == _short(name)):
                folders.append(parent / entry.name)
    return folders


def _is_alive(folder: Path, target: Path | None = None) -> bool:
    """Return True if a living process holds a scratch folder; remove it if that is dead."""
    # `target` is restored if a kill came between the two halves of a replacement.
    try:
        stream = open(folder / LOCK, "r+")  # noqa: SIM115 - closed below
    except OSError:  # removed now, or not locked yet: its creator sees that it is gone
        with contextlib.suppress(OSError):
            folder.rmdir()
        return False
    with stream:
        state = lock(stream)
        if state == "held":
            if target is not None and (folder / OLD).exists() and not target.exists():
                with contextlib.suppress(OSError):
                    (folder / OLD).rename(target)
            remove_scratch(folder)
    return state == "busy"


@contextlib.contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Create a folder with those above it; remove at the end what is still empty."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for above in missing:
            with contextlib.suppress(OSError):
                above.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _exchange(path: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    at_working_folder, exchange = -100, 2
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    names = [os.fsencode(os.path.abspath(p)) for p in (path, other)]
    if renameat2(at_working_folder, names[0], at_working_folder, names[1], exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EXDEV):
        return False
    raise OSError(number, os.strerror(number), str(other))
