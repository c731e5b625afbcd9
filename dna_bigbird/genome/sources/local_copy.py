"""Taking a copy on this machine in place of a download, verified in the same way."""

import hashlib
import os
import shutil
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import unreadable
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.sources.specs import RemoteFile

CHUNK = 1 << 18


def take_local(file: RemoteFile, local: Path, output: Path) -> str:
    """Copy a local file, verify it like a downloaded one, and return its SHA-256.

    Raises:
        InputError: If it is missing or cannot be read, or its size or checksum is not the one of the
            description.
        OutputError: If the disk is full.
    """
    if not local.is_file():
        raise InputError(f"{local}: no such file; expected a local copy of {file.url}")
    try:
        source = open(local, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise unreadable(local, error) from error
    with source:
        size = os.fstat(source.fileno()).st_size
        if file.size_bytes not in (None, size):
            raise InputError(wrong_size(str(local), size, file.size_bytes))
        actual = hashlib.file_digest(source, "sha256").hexdigest()
        if file.sha256 and actual != file.sha256:
            raise InputError(wrong_checksum(str(local), actual, file.sha256, size))
        source.seek(0)
        # Not shutil.copyfile: of a full disk it says that the source cannot be read.
        with atomic_path(output) as temporary, open(temporary, "wb") as copy:
            shutil.copyfileobj(source, copy, CHUNK)
    return actual


def wrong_checksum(what: str, actual: str, expected: str, size: int) -> str:
    """Return the line for a file that is not the described one."""
    return (
        f"{what}: wrong checksum: sha256 {actual} ({size:,} bytes), expected {expected}. The file is "
        "damaged or another version; nothing was kept"
    )


def wrong_size(what: str, size: int, expected: int) -> str:
    """Return the line for a file whose size is not the described one."""
    return (
        f"{what}: {size:,} bytes, but size_bytes of its description is {expected}. The file is "
        "another version, or the address gives another one; nothing was kept"
    )
