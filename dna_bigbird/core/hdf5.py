"""HDF5 files: written whole or not at all, also when the disk is full; read also where nothing can be locked."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import h5py

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path

LOCKS_FAILED = ("unable to lock file", "flag values don't match")
"""In HDF5's messages."""


class _PatientFile(io.FileIO):
    """A file whose failed writes are remembered instead of raised.

    The HDF5 library cannot close a file that it cannot flush: it leaves open objects behind and
    crashes when the process ends. So the write is reported to it as successful, and the caller gets
    the first error once the file is closed. What could not be written reads as zeros.
    """

    error: OSError | None = None

    def write(self, data) -> int:
        """Write all of `data`, or remember why not."""
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view) and self.error is None:
            try:
                done += super().write(view[done:])
            except OSError as error:
                self.error = error
        return len(view)

    def readinto(self, buffer) -> int:
        """Fill the whole buffer, with zeros after the end of the file."""
        view = memoryview(buffer).cast("B")
        count = super().readinto(view) or 0
        view[count:] = bytes(len(view) - count)
        return len(view)


@contextlib.contextmanager
def new_hdf5(path: Path) -> Iterator[h5py.File]:
    """Yield an empty HDF5 file that becomes `path` if the block succeeds.

    Equal contents give equal bytes: one library version bound, no time stamps.

    Raises:
        InputError: If the disk is full or the folder cannot be written to.
    """
    with atomic_path(path) as partial, _PatientFile(partial, "w+") as raw:
        try:
            with h5py.File(raw, "w", libver=("v110", "v110")) as file:
                yield file
        finally:
            if raw.error is not None:
                raise raw.error


def read_hdf5(path: Path | str) -> h5py.File:
    """Open a file that is only read; without a lock where the file system has none.

    No command here writes into a file in place, which is what a lock would keep away. The default comes
    first, and True last, because HDF5 opens a file twice in a process only with one setting, and the caller
    may have it open.
    `locking="best-effort"` would not serve: HDF5 1.14 and 2.0 then accept the error ENOSYS only, and file
    systems answer ENOLCK or EOPNOTSUPP.

    Raises:
        InputError: If the environment variable HDF5_USE_FILE_LOCKING demands a lock.
        OSError: As `h5py.File`.
    """
    for locking in (None, False, True):
        try:
            return h5py.File(path, "r", locking=locking)
        except BlockingIOError:  # a writer holds the lock
            raise
        except (OSError, ValueError) as error:  # ValueError: HDF5 older than 1.10.7
            is_about_locks = any(words in str(error) for words in LOCKS_FAILED)
            if isinstance(error, OSError) and not is_about_locks:
                raise
            failure = error
    raise InputError(
        f"{path}: cannot read it: its file system has no locks ({failure}). Set the environment variable "
        "HDF5_USE_FILE_LOCKING=FALSE"
    ) from failure
