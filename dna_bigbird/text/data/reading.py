"""Reading JSON, plain text, folders and archives, with messages that name the place."""

import contextlib
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dna_bigbird.core.archive_checks import BLOCK, check_count, tar_members, tar_stream
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import (
    GZIP_MAGIC,
    LONGEST_LINE,
    numbered_lines,
    open_text,
    parse_json,
    unreadable,
)
from dna_bigbird.core.unpacking import Allowance, read_limited

ZIP_MAGIC = b"PK\x03\x04"


class Folder:
    """Text files of a folder, or of a tar or zip archive (read in memory), by name."""

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
        for each in (self._archive, self._stream):
            if each is not None:
                each.close()

    def names(self) -> list[str]:
        """Return the files' names with '/' between folders: sorted, or in the archive's order."""
        # A compressed archive is read fast in that order and slowly in any other.
        return self._names

    @property
    def has_fast_access(self) -> bool:
        """Whether files are read as fast in any order: not those of a tar archive, which may be compressed."""
        return not isinstance(self._archive, tarfile.TarFile)

    def text(self, name: str) -> str:
        """Return a file's text, unpacked if it is gzip; line ends are as stored."""
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
                return _unzipped(read_limited(stream, allowance), allowance)
        allowance = Allowance(self.path) if name in self._counted else self._allowance
        self._counted.add(name)
        member = self._members[name]
        is_zip = isinstance(self._archive, zipfile.ZipFile)
        if (member.file_size if is_zip else member.size) > allowance.limit:
            raise allowance.refusal()
        if not is_zip and member.issparse():
            raise InputError(f"{self.path}: {name}: a file with holes; expected text")
        with self._archive.open(member) if is_zip else self._archive.extractfile(member) as stream:
            return _unzipped(read_limited(stream, allowance), allowance)

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            try:
                name.encode()
            except UnicodeEncodeError:
                raise InputError(
                    f"{self.path}: the name {shortened(ascii(name))} is not UTF-8; ids of documents "
                    "are made of names. Unpack it and rename the file, for example with convmv"
                ) from None


def _unzipped(content: bytes, allowance: Allowance) -> bytes:
    if not content.startswith(GZIP_MAGIC):
        return content
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        return read_limited(stream, allowance)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


_WORDS = {dict: "an object", list: "a list", str: "a text"}
_WORDS |= {int: "a whole number", float: "a number", bool: "true or false"}


def read_json_value(path: Path | str) -> Any:
    with open_text(path) as stream:
        return parse_json(stream.read(), path)


def read_json_list(path: Path | str) -> list[dict]:
    return check_items(read_json_value(path), path)


def check_items(value: Any, source: Path | str) -> list[dict]:
    """Return a value of JSON that must be a list of objects."""
    if not isinstance(value, list):
        raise InputError(f"{source}: expected a JSON list, found {type_in_words(value)}")
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise InputError(
                f"{source}: item {number}: expected an object, found {type_in_words(item)}"
            )
    return value


def read_json_lines(path: Path | str) -> Iterator[tuple[int, dict]]:
    """Yield the objects of a JSON-lines file with their line numbers from 1; skip empty lines."""
    yield from parse_json_lines(numbered_lines(path, LONGEST_LINE), str(path))


def parse_json_lines(lines: Iterable[tuple[int, str]], shown: str) -> Iterator[tuple[int, dict]]:
    """Yield the objects of numbered lines as `read_json_lines` does; `shown` names them in messages."""
    for number, line in lines:
        if not line.strip():
            continue
        item = parse_json(line, f"{shown}:{number}", "; expected one object per line")
        if not isinstance(item, dict):
            raise InputError(f"{shown}:{number}: expected an object, found {type_in_words(item)}")
        yield number, item


def check_ids(ids: Iterable[str], source: Path | str) -> None:
    """Check that ids are unique, as predictions are stored by id."""
    for name, count in Counter(ids).items():
        if count > 1:
            raise InputError(
                f"{source}: id {shortened(repr(name))} comes {count} times; predictions go by it"
            )


def need(item: dict, key: str, expected: type | tuple[type, ...], where: str) -> Any:
    """Return `item[key]`, which must have (one of) the types; whole numbers are floats too."""
    types = expected if isinstance(expected, tuple) else (expected,)
    words = " or ".join(_WORDS[each] for each in types)
    if key not in item:
        raise InputError(f"{where}: no {key!r}; expected {words}")
    value = item[key]
    if not any(_is(value, each) for each in types):
        raise InputError(f"{where}: {key!r} is {shortened(repr(value))}, expected {words}")
    return value


def _is(value: object, expected: type) -> bool:
    if expected in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, int | float if expected is float else expected)


def type_in_words(value: object) -> str:
    """Return the type of a JSON value in words, for messages."""
    if value is None:
        return "null"
    return next(words for each, words in _WORDS.items() if _is(value, each))


JSON_LINES = (".jsonl", ".json")


def read_documents(path: Path) -> Iterator[str]:
    """Yield the documents of a corpus, JSON lines or plain text with blank lines between them."""
    # White space becomes single spaces: to the published vocabulary a line break is an unknown
    # letter.
    path = Path(path)
    name = path.name.removesuffix(".gz")
    documents = (
        (" ".join(need(x, "text", str, f"{path}:{i}").split()) for i, x in read_json_lines(path))
        if name.endswith(JSON_LINES)
        else _plain(path)
    )
    is_empty = True
    for text in documents:
        is_empty = False
        yield text
    if is_empty:
        raise InputError(
            f"{path}: no document; expected text with blank lines between documents, or JSON lines "
            'with {"text": …} in a file named .jsonl'
        )


def _plain(path: Path) -> Iterator[str]:
    lines: list[str] = []
    for _, line in numbered_lines(path, LONGEST_LINE):
        if line.strip():
            lines.append(" ".join(line.split()))
        elif lines:
            yield " ".join(lines)
            lines = []
    if lines:
        yield " ".join(lines)


OFFICIAL_SPLITS = {"train": "train", "validation": "val", "test": "test"}
"""Our names of the splits, and the files' names of them."""


SOURCE, TARGET = ".source", ".target"
"""Ends of the names of two files whose lines belong together: documents and summaries."""


def holds_files(path: Path) -> bool:
    """Return True for a folder, tar or zip archive, False for a plain file or nothing."""
    # `tarfile.is_tarfile` takes most bytes for LZMA, with a dictionary of up to 4 GiB, and fails at
    # a cut gzip file.
    if not path.is_file():
        return path.is_dir()
    with contextlib.suppress(OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError):
        with open(path, "rb") as raw:
            if raw.read(len(ZIP_MAGIC)) == ZIP_MAGIC:
                return True
            raw.seek(0)
            block = tar_stream(raw).read(BLOCK)
        tarfile.TarInfo.frombuf(block, tarfile.ENCODING, "surrogateescape")
        return True
    return False


def texts_of(folder: Folder, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield names and texts in the order of `names`; of a tar archive all are in memory."""
    # Read in its order: a compressed archive would be unpacked again for each file out of it.
    if folder.has_fast_access:
        yield from ((name, folder.text(name)) for name in names)
        return
    selected = set(names)
    texts = {name: folder.text(name) for name in folder.names() if name in selected}
    for name in names:
        yield name, texts[name]


def partner_of(path: Path) -> Path | None:
    """Return the file of summaries of a file of documents, or the other way round; else None.

    >>> partner_of(Path("xsum/val.source"))
    PosixPath('xsum/val.target')
    """
    other = {SOURCE: TARGET, TARGET: SOURCE}.get(path.suffix)
    return path.with_suffix(other) if other else None
