"""HDF5 files: written whole or not at all, also when the disk is full; read also where nothing can be locked."""

import contextlib
import functools
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.files import check_readable
from dna_bigbird.core.messages import listed_words
from dna_bigbird.core.writing import atomic_path

LOCKS_FAILED = ("unable to lock file", "flag values don't match")
"""In HDF5's messages."""


class _PatientFile(io.FileIO):
    """A file whose failed writes are remembered instead of raised."""

    # The HDF5 library cannot close a file that it cannot flush: it leaves open objects behind and crashes
    # when the process ends. So the write is reported to it as successful, and the caller gets the first
    # error once the file is closed. What could not be written reads as zeros.

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
    """Yield an empty HDF5 file that becomes `path` if the block succeeds; equal contents, equal bytes."""
    with atomic_path(path) as partial, _PatientFile(partial, "w+") as raw:
        try:
            with h5py.File(raw, "w", libver=("v110", "v110")) as file:
                yield file
        finally:
            if raw.error is not None:
                raise raw.error


def read_hdf5(path: Path | str) -> h5py.File:
    """Open a file that is only read; without a lock where the file system has none."""
    # No command here writes into a file in place, which is what a lock would keep away. The default comes
    # first, and True last, because HDF5 opens a file twice in a process only with one setting, and the
    # caller may have it open. "best-effort" would not serve: HDF5 1.14 and 2.0 then accept the error ENOSYS
    # only, and file systems answer ENOLCK or EOPNOTSUPP.
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


def read_attributes(file: h5py.File) -> dict[str, Any]:
    """Return all attributes: text as str, numbers as those of Python."""
    # Text of variable length is read from files of earlier versions only.
    names = set(file.attrs)
    texts = json.loads(file.attrs[TEXTS]) if TEXTS in names else {}
    values = {name: file.attrs[name] for name in sorted(names - texts.keys() - {TEXTS})}
    return texts | {
        name: value.decode()
        if isinstance(value, bytes)
        else getattr(value, "item", lambda v=value: v)()
        for name, value in values.items()
    }


def write_checksums(file: h5py.File, digests: Mapping[str, str]) -> None:
    """Add the checksums, of every dataset by name, to a new file; all else must have been written."""
    texts = {name: value for name, value in file.attrs.items() if isinstance(value, str)}
    _write_text(file, TEXTS, json.dumps(texts, sort_keys=True))
    _write_text(file, DATASETS, json.dumps(digests, sort_keys=True))
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
    """Turn whatever h5py raises for a file that is damaged or cannot be read into one line."""
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
    """Open a file for a block that only reads."""
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


@dataclass(frozen=True)
class StoreFormat:
    """A format of ours: what its files say of themselves, and how they are written and read."""

    name: str
    """Value of the attribute `key`."""
    what: str = ""
    """What a file is called in messages; empty for files that are only written here."""
    again: str = ""
    """How to make a damaged file again."""
    make: str = ""
    """How to make one in place of another file."""
    versions: tuple[int, ...] = (1,)
    """Values of `format_version` that are read."""
    key: str = "format"
    has_checksums: bool = True
    lacking: str = "it has no checksums"
    """What a file of an earlier version lacks, for a note."""

    def identity(self, version: int = 0) -> dict[str, object]:
        """Return the attributes that name the format and its version, the last one if not given."""
        return {self.key: self.name, "format_version": version or self.versions[-1]}

    @contextlib.contextmanager
    def create(self, path: Path) -> Iterator["StoreWriter"]:
        """Yield a new file that becomes `path` if the block succeeds."""
        with new_hdf5(path) as file:
            writer = StoreWriter(file, self)
            yield writer
            if self.has_checksums:
                write_checksums(file, writer.digests)

    @contextlib.contextmanager
    def open(
        self,
        path: Path,
        *,
        verify: bool | Collection[str] = True,
        progress: Callable[[list], Iterable] = iter,
    ) -> Iterator[tuple[h5py.File, dict[str, Any]]]:
        """Yield a file that is only read, and its attributes; `verify`: check all datasets, or these."""
        if not Path(path).is_file():
            raise InputError(f"{path}: no such {self.what}; {self.make}")
        with open_hdf5(path, self.again) as file:
            attributes = read_attributes(file)
            if attributes.get(self.key) != self.name:
                actual = str(attributes.get("format") or attributes.get("kind") or "")
                named = f": its format is {shortened(actual)!r}" if actual else ""
                raise InputError(f"{path}: this HDF5 file is not a {self.what}{named}; {self.make}")
            if (version := attributes.get("format_version")) not in self.versions:
                raise InputError(
                    f"{path}: format version {shortened(str(version))}, this program reads "
                    f"{listed_words([str(x) for x in self.versions], 'and')}; {self.again}"
                )
            if self.has_checksums and HEADER in attributes:
                header = {"its attributes": _header_sha256(file, attributes)}
                self._compare(path, header, {"its attributes": attributes[HEADER]})
                sha256 = json.loads(attributes[DATASETS])
                names = (sha256 if verify else ()) if isinstance(verify, bool) else verify
                self._compare(path, dataset_digests(file, names, progress), sha256)
            elif self.has_checksums:
                _note_earlier_version(path, self.lacking)
            yield file, attributes

    def _compare(self, path: Path, actual: Mapping[str, str], expected: Mapping[str, str]) -> None:
        for name, digest in actual.items():
            if digest != expected[name]:
                raise InputError(
                    f"{path}: damaged: the sha256 of {name} is {digest[:12]}…, the file says "
                    f"{str(expected[name])[:12]}…; {self.again}"
                )


@functools.cache
def _note_earlier_version(path: Path, lacking: str) -> None:
    note(f"{path}: made by an earlier version: {lacking}, so damage may go unnoticed")


class StoreWriter:
    """A new file of a format: attributes, and datasets with the sha256 of what is written."""

    def __init__(self, file: h5py.File, format: StoreFormat) -> None:
        self.file, self._format = file, format
        self._digests: dict[str, Any] = {}

    @property
    def digests(self) -> dict[str, str]:
        """The sha256 of every dataset so far, by name."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}

    def describe(self, attributes: Mapping[str, object], version: int = 0) -> None:
        """Write the attributes, those of the format first."""
        self.file.attrs.update({**self._format.identity(version), **attributes})

    def put(
        self, name: str, values: np.ndarray, *, named_last: bool = False, **options: object
    ) -> None:
        """Write a whole dataset; options are those of h5py."""
        # named_last: as stores of text always were: the same content in other bytes.
        self._digest(name, values)
        dataset = self.file.create_dataset(None if named_last else name, data=values, **options)
        if named_last:
            self.file[name] = dataset

    def growing(
        self, name: str, dtype: Any, chunk_rows: int, *tail: int, **options: object
    ) -> h5py.Dataset:
        """Create a dataset without rows, (0, *tail), for `append`; options are those of h5py."""
        shape = {"maxshape": (None, *tail), "chunks": (chunk_rows, *tail)}
        return self.file.create_dataset(name, (0, *tail), dtype, **shape, **options)

    def append(self, name: str, values: np.ndarray | list) -> None:
        """Append rows to a dataset of `growing`."""
        dataset = self.file[name]
        values = np.ascontiguousarray(values, dtype=dataset.dtype)
        dataset.resize(len(dataset) + len(values), axis=0)
        dataset[len(dataset) - len(values) :] = values
        self._digest(name, values)

    def _digest(self, name: str, values: np.ndarray) -> None:
        self._digests.setdefault(name, hashlib.sha256()).update(np.ascontiguousarray(values))


def text_array(values: Sequence[str]) -> np.ndarray:
    """Return UTF-8 of fixed length: HDF5's strings of variable length are slow and not compressed."""
    encoded = [value.encode() for value in values]
    return np.array(encoded, dtype=f"S{max(map(len, encoded), default=0) or 1}")


def texts_of(dataset: h5py.Dataset) -> list[str]:
    """Return what `text_array` encoded."""
    return [value.decode() for value in dataset[:].tolist()]


class StoredArrays:
    """Datasets of a file, read in pieces; can be pickled and used after a fork: each process opens the file."""

    def __init__(self, path: Path, format: StoreFormat) -> None:
        self._path, self._format = path, format
        self._file: h5py.File | None = None
        self._datasets: dict[str, h5py.Dataset] = {}
        self._pid = -1

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_file": None, "_datasets": {}, "_pid": -1}

    def read(self, name: str, start: int, end: int) -> np.ndarray:
        """Return the rows [start, end) of a dataset."""
        with reading(self._path, self._format.again):
            if self._pid != os.getpid():
                self._file, self._datasets, self._pid = read_hdf5(self._path), {}, os.getpid()
            if name not in self._datasets:
                self._datasets[name] = self._file[name]
            return self._datasets[name][start:end]
