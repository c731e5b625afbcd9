"""Folders of text files, and tar and zip archives as if they were folders; nothing is unpacked to disk."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from dna_bigbird.core.archive_checks import check_count, tar_members, tar_stream
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import GZIP_MAGIC, unreadable
from dna_bigbird.core.unpacking import Allowance, read_limited

ZIP_MAGIC = b"PK\x03\x04"


class Folder:
    """Text files of a folder, or of a tar (plain or compressed) or zip archive, by name.

    Members are read in memory, and all of an archive may become at most what `Allowance` has. Close it,
    or use it with `with`.

    Args:
        path: The folder or the archive.

    Raises:
        InputError: If it is neither, is damaged or becomes too large, or has names that are not UTF-8.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._archive: tarfile.TarFile | zipfile.ZipFile | None = None
        self._stream: BinaryIO | None = None
        if self.path.is_dir():
            files = (file for file in self.path.rglob("*") if file.is_file())
            self._names = sorted(file.relative_to(self.path).as_posix() for file in files)
        else:
            self._open()
            self._names = list(self._members)
        self._known = frozenset(self._names)
        try:
            self._check_names(self._names)
        except InputError:
            self.close()
            raise

    def _open(self) -> None:
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such folder or archive")
        try:
            self._stream = open(self.path, "rb")  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise unreadable(self.path, error) from error
        self._allowance, self._counted = Allowance(self.path), set()
        try:
            start = self._stream.read(len(ZIP_MAGIC))
            self._stream.seek(0)
            if start == ZIP_MAGIC:
                self._archive = zipfile.ZipFile(self._stream)
                entries = self._archive.infolist()
                check_count(self._stream, len(entries))
                self._members = {item.filename: item for item in entries if not item.is_dir()}
            else:
                self._open_tar()
        except (InputError, MemoryError):
            self.close()
            raise
        except Exception as error:  # a damaged archive raises nearly anything
            self.close()
            raise InputError(
                f"{self.path}: cannot read it as a tar or zip archive: {_reason(error)}. Copy it again"
            ) from error

    def _open_tar(self) -> None:
        limited = tar_stream(self._stream, self._allowance)
        self._archive = tarfile.TarFile(fileobj=limited)
        self._members = {}
        for member in tar_members(self._archive, limited):
            self._members[member.name.removeprefix("./")] = member

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive."""
        for each in (self._archive, self._stream):
            if each is not None:
                each.close()

    def names(self) -> list[str]:
        """Return the files' names with '/' between folders: sorted, or in the archive's order.

        A compressed archive is read fast in that order and slowly in any other.
        """
        return self._names

    @property
    def has_fast_access(self) -> bool:
        """Whether files are read as fast in any order: not those of a tar archive, which may be compressed."""
        return not isinstance(self._archive, tarfile.TarFile)

    def text(self, name: str) -> str:
        """Return a file's text, unpacked if it is gzip; line ends are as stored.

        Raises:
            InputError: If there is no such file, it is damaged or not UTF-8, or too much is unpacked.
        """
        if name not in self._known:
            raise InputError(f"{self.path}: no file {shortened(ascii(name))} in it")
        try:
            content = self._content(name)
        except (InputError, MemoryError):
            raise
        except OSError as error:
            raise InputError(f"{self.path}: {name}: cannot read it: {_reason(error)}") from error
        except Exception as error:  # a damaged archive raises nearly anything
            reason = _reason(error)
            raise InputError(f"{self.path}: {name}: damaged: {reason}. Copy it again") from error
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{self.path}: {name}: not text in UTF-8: {error.reason}") from error

    def _content(self, name: str) -> bytes:
        if self._archive is None:
            allowance = Allowance(self.path / name)
            with open(self.path / name, "rb") as stream:
                return _plain(read_limited(stream, allowance), allowance)
        allowance = Allowance(self.path) if name in self._counted else self._allowance
        self._counted.add(name)
        member = self._members[name]
        is_zip = isinstance(self._archive, zipfile.ZipFile)
        if (member.file_size if is_zip else member.size) > allowance.limit:
            raise allowance.refusal()
        if not is_zip and member.issparse():
            raise InputError(f"{self.path}: {name}: a file with holes; expected text")
        with self._archive.open(member) if is_zip else self._archive.extractfile(member) as stream:
            return _plain(read_limited(stream, allowance), allowance)

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            try:
                name.encode()
            except UnicodeEncodeError:
                raise InputError(
                    f"{self.path}: the name {shortened(ascii(name))} is not UTF-8; ids of documents "
                    "are made of names. Unpack it and rename the file, for example with convmv"
                ) from None


def open_folder(path: Path | str) -> Folder:
    """Open a folder, or a tar or zip archive, as a `Folder`."""
    return Folder(path)


def _plain(content: bytes, allowance: Allowance) -> bytes:
    if not content.startswith(GZIP_MAGIC):
        return content
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        return read_limited(stream, allowance)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
