"""HDF5 files: written whole or not at all, also when the disk is full; read also where nothing can be locked."""

import contextlib
import functools
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import check_readable
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


# Checksums inside our HDF5 files: what is read is what was written, or one line of error.
#
# HDF5 has checksums of its structure, but none of uncompressed data. Text of variable length (what
# h5py makes of a str) is outside the structure too, and the library may loop for ever where that is
# damaged. So text attributes are there twice: under their names, for others to read, and together in
# an attribute of fixed length, which is what is read here. Three attributes are for the check:
#     text_attributes   JSON: all text attributes by name
#     datasets_sha256   JSON: sha256 of the bytes of every dataset, by name
#     header_sha256     of all other attributes, and of name, type and shape of every dataset
# They depend on the content only, so equal contents still give equal bytes.

TEXTS = "text_attributes"
DATASETS = "datasets_sha256"
HEADER = "header_sha256"
BLOCK_BYTES = 1 << 24
"""Data that are in memory at once while a file is verified."""


class Digests:
    """sha256 of the bytes of every dataset, updated with what is written."""

    def __init__(self) -> None:
        self._digests: dict[str, Any] = {}

    def update(self, name: str, values: np.ndarray) -> None:
        """Append values, in the type of the dataset."""
        digest = self._digests.setdefault(name, hashlib.sha256())
        digest.update(np.ascontiguousarray(values))

    def as_json(self) -> str:
        """Return the digests by name."""
        digests = {name: digest.hexdigest() for name, digest in self._digests.items()}
        return json.dumps(digests, sort_keys=True)


def read_attributes(file: h5py.File) -> dict[str, Any]:
    """Return all attributes: text as str, numbers as those of Python.

    Text of variable length is read from files of earlier versions only.
    """
    names = set(file.attrs)
    texts = json.loads(file.attrs[TEXTS]) if TEXTS in names else {}
    values = {name: file.attrs[name] for name in sorted(names - texts.keys() - {TEXTS})}
    return texts | {
        name: value.decode()
        if isinstance(value, bytes)
        else getattr(value, "item", lambda v=value: v)()
        for name, value in values.items()
    }


def write_checksums(file: h5py.File, digests: Digests) -> None:
    """Add the checksums to a new file; all else must have been written."""
    texts = {name: value for name, value in file.attrs.items() if isinstance(value, str)}
    _write_text(file, TEXTS, json.dumps(texts, sort_keys=True))
    _write_text(file, DATASETS, digests.as_json())
    _write_text(file, HEADER, _header_sha256(file, read_attributes(file)))


def _write_text(file: h5py.File, name: str, text: str) -> None:
    """Write an attribute of fixed length; h5py gives it back as bytes."""
    raw = text.encode()
    file.attrs.create(name, np.bytes_(raw), dtype=h5py.string_dtype("utf-8", len(raw)))


def _header_sha256(file: h5py.File, attributes: Mapping[str, Any]) -> str:
    layout: dict[str, list] = {}

    def visit(name: str, node: h5py.Group | h5py.Dataset) -> None:
        if isinstance(node, h5py.Dataset):
            layout[name] = [node.dtype.str, *node.shape]

    file.visititems(visit)
    others = {name: value for name, value in attributes.items() if name != HEADER}
    text = json.dumps([others, layout], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def reading(path: Path, advice: str) -> Iterator[None]:
    """Turn whatever h5py raises for a file that is damaged or cannot be read into one line.

    Args:
        advice: How to make the file again.

    Raises:
        InputError: Naming the file.
    """
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path}: not enough memory to read it") from error
    except Exception as error:  # a damaged file makes h5py, numpy and json raise nearly anything
        if reason := _system_error(error):
            raise InputError(f"{path}: cannot read it: {reason}") from error
        raise InputError(f"{path}: damaged: {_one_line(error)}; {advice}") from error


@contextlib.contextmanager
def open_hdf5(path: Path, advice: str) -> Iterator[h5py.File]:
    """Open a file for a block that only reads.

    Raises:
        InputError: As `reading`, or if it is not an HDF5 file.
    """
    check_readable(path)
    with reading(path, advice):
        try:
            file = read_hdf5(path)
        except OSError as error:
            if _system_error(error):
                raise
            raise InputError(f"{path}: not an HDF5 file, or one cut short; {advice}") from error
        with file:
            yield file


def _system_error(error: Exception) -> str:
    """Return the system's words if a read failed for another reason than the file's content."""
    if not isinstance(error, OSError):
        return ""
    # HDF5 gives the number in its text only.
    number = re.search(r"errno = (\d+)", str(error))
    code = error.errno or (int(number[1]) if number else 0)
    return os.strerror(code) if code else ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).strip("'\"").split())[:200] or type(error).__name__


def stored_checksums(
    file: h5py.File, path: Path, advice: str, *, lacking: str = "it has no checksums"
) -> dict[str, str] | None:
    """Check attributes, names, types and shapes; return the sha256 of every dataset.

    Args:
        lacking: What a file of an earlier version lacks, for the note.

    Returns:
        None for a file of an earlier version, with a note.

    Raises:
        InputError: If they are not what was written.
    """
    attributes = read_attributes(file)
    if HEADER not in attributes:
        _note_earlier_version(path, lacking)
        return None
    actual, expected = _header_sha256(file, attributes), attributes[HEADER]
    if actual != expected:
        raise InputError(
            f"{path}: damaged: the sha256 of its attributes is {actual[:12]}…, the file says "
            f"{str(expected)[:12]}…; {advice}"
        )
    return json.loads(attributes[DATASETS])


@functools.cache
def _note_earlier_version(path: Path, lacking: str) -> None:
    note(f"{path}: made by an earlier version: {lacking}, so damage may go unnoticed")


def check_datasets(
    file: h5py.File,
    path: Path,
    expected: dict[str, str],
    advice: str,
    *,
    names: Iterable[str] | None = None,
    progress: Callable[[list], Iterable] = iter,
) -> None:
    """Compare the bytes of datasets with their checksums; holds `BLOCK_BYTES` of them in memory.

    Args:
        expected: From `stored_checksums`.
        names: Those to check; all by default.

    Raises:
        InputError: If one is not what was written.
    """
    names = list(expected) if names is None else list(names)
    for name, digest in dataset_digests(file, names, progress).items():
        if digest != expected[name]:
            raise InputError(
                f"{path}: damaged: the sha256 of {name} is {digest[:12]}…, the file says "
                f"{expected[name][:12]}…; {advice}"
            )


def dataset_digests(
    file: h5py.File, names: Iterable[str], progress: Callable[[list], Iterable] = iter
) -> dict[str, str]:
    """Read datasets from end to end, block by block, and return the sha256 of each."""
    digests = {name: hashlib.sha256() for name in names}
    blocks = [(name, rows) for name in digests for rows in _blocks(file[name])]
    for name, rows in progress(blocks):
        digests[name].update(np.ascontiguousarray(file[name][rows]))
    return {name: digest.hexdigest() for name, digest in digests.items()}


def _blocks(dataset: h5py.Dataset) -> list[slice]:
    """Return slices of whole chunks, each about `BLOCK_BYTES`."""
    row_bytes = max(1, dataset.dtype.itemsize * int(np.prod(dataset.shape[1:])))
    chunk_rows = dataset.chunks[0] if dataset.chunks else 1
    rows = max(1, BLOCK_BYTES // (row_bytes * chunk_rows)) * chunk_rows
    return [slice(start, start + rows) for start in range(0, len(dataset), rows)]
