"""Writing HDF5 files that are whole or absent, also when the disk is full."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import h5py

from dna_bigbird.writing import atomic_path


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
