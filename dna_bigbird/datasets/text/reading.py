"""Reading JSON and folders of text files with messages that name the place."""

import gzip
import json
import re
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import GZIP_MAGIC, numbered_lines, open_text

ZIP_MAGIC = b"PK\x03\x04"
_DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError),  # of a zip file: odd compression, a password
)
_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_WORDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def read_json_value(path: Path | str) -> Any:
    """Read a whole JSON file, plain or gzip.

    Raises:
        InputError: If it is missing, no text or not JSON.
    """
    with open_text(path) as stream:
        return parse_json(stream.read(), path)


def parse_json(text: str, place: Path | str) -> Any:
    """Return the value that a whole JSON text holds.

    Args:
        place: Of the text, for the message.

    Raises:
        InputError: If it is not JSON.
    """
    try:
        return _loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not valid JSON: {error}. Copy it again") from error


def _loads(text: str) -> Any:
    value = json.loads(text)
    if _MAYBE_HALF.search(text):  # json lets \\ud83d stand alone; no vocabulary or file can hold it
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            raise ValueError(f"{half!a} is half of a character") from None
    return value


def read_json_list(path: Path | str) -> list[dict]:
    """Read a JSON list of objects, plain or gzip.

    Raises:
        InputError: As `read_json_value`; if it is no list, or an item no object.
    """
    return check_items(read_json_value(path), path)


def check_items(value: Any, place: Path | str) -> list[dict]:
    """Return a value of JSON that must be a list of objects.

    Raises:
        InputError: If it is no list, or an item no object.
    """
    if not isinstance(value, list):
        raise InputError(f"{place}: expected a JSON list, found {found_kind(value)}")
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise InputError(
                f"{place}: item {number}: expected an object, found {found_kind(item)}"
            )
    return value


def read_json_lines(path: Path | str) -> Iterator[tuple[int, dict]]:
    """Yield the objects of a JSON-lines file, plain or gzip, with their line numbers from 1.

    Empty lines are passed over.

    Raises:
        InputError: If the file is missing or no text, or a line is no JSON object.
    """
    yield from parse_json_lines(numbered_lines(path), str(path))


def parse_json_lines(lines: Iterable[tuple[int, str]], shown: str) -> Iterator[tuple[int, dict]]:
    """Yield the objects of numbered lines as `read_json_lines` does; `shown` names them in messages."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            item = _loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{shown}:{number}: not valid JSON: {error}; expected one object a line"
            ) from error
        if not isinstance(item, dict):
            raise InputError(f"{shown}:{number}: expected an object, found {found_kind(item)}")
        yield number, item


def check_ids(ids: Iterable[str], place: Path | str) -> None:
    """Refuse ids that come more than once, as predictions go by them.

    Raises:
        InputError: Naming the first one.
    """
    for name, count in Counter(ids).items():
        if count > 1:
            raise InputError(
                f"{place}: id {shortened(repr(name))} comes {count} times; predictions go by it"
            )


def need(item: dict, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Return `item[key]`, which must be of a kind.

    Args:
        kind: dict, list, str, int, float (whole numbers too) or bool, or several of them.
        where: Place for the message, such as "dev.json: item 5ab3".

    Raises:
        InputError: If the key is missing or its value of another kind.

    Example:
        >>> need({"question": "Who?"}, "question", str, "dev.json: item 0")
        'Who?'
        >>> need({"question": 3}, "question", str, "dev.json: item 0")
        Traceback (most recent call last):
        dna_bigbird.errors.InputError: dev.json: item 0: 'question' is 3, expected a text
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    words = " or ".join(_WORDS[one] for one in kinds)
    if key not in item:
        raise InputError(f"{where}: no {key!r}; expected {words}")
    value = item[key]
    if not any(_is(value, one) for one in kinds):
        raise InputError(f"{where}: {key!r} is {shortened(repr(value))}, expected {words}")
    return value


def _is(value: object, kind: type) -> bool:
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, int | float if kind is float else kind)


def found_kind(value: object) -> str:
    """Say what a value of JSON is, for messages."""
    if value is None:
        return "null"
    return next(words for kind, words in _WORDS.items() if _is(value, kind))


class Folder:
    """Text files of a folder, or of a tar (plain or compressed) or zip archive, by name.

    Members are read in memory; nothing is unpacked to disk. Close it, or use it with `with`.

    Args:
        path: The folder or the archive.

    Raises:
        InputError: If it is neither.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._archive: tarfile.TarFile | zipfile.ZipFile | None = None
        if self.path.is_dir():
            files = (file for file in self.path.rglob("*") if file.is_file())
            self._names = sorted(file.relative_to(self.path).as_posix() for file in files)
            return
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such folder or archive")
        try:
            self._open()
        except _DAMAGED as error:
            self.close()
            reason = str(error).partition("\n")[0].rstrip(":")  # each compression has a line below
            raise InputError(
                f"{self.path}: cannot read it as a tar or zip archive: {reason}. Copy it again"
            ) from error
        self._names = list(self._members)

    def _open(self) -> None:
        with open(self.path, "rb") as stream:
            is_zip = stream.read(4) == ZIP_MAGIC
        if is_zip:
            self._archive = zipfile.ZipFile(self.path)
            found = self._archive.infolist()
            self._members = {item.filename: item for item in found if not item.is_dir()}
        else:
            self._archive = tarfile.open(self.path)  # noqa: SIM115 - closed by `close`
            files = (member for member in self._archive if member.isreg())
            self._members = {member.name.removeprefix("./"): member for member in files}

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive."""
        if self._archive is not None:
            self._archive.close()

    def names(self) -> list[str]:
        """Return the files' names with '/' between folders: sorted, or in the archive's order.

        A compressed archive is read fast in that order and slowly in any other.
        """
        return self._names

    def text(self, name: str) -> str:
        """Return a file's text, unpacked if it is gzip; line ends are as stored.

        Raises:
            InputError: If there is no such file, or it is damaged or not UTF-8.
        """
        try:
            content = self._bytes(name)
            if content.startswith(GZIP_MAGIC):
                content = gzip.decompress(content)
        except (KeyError, FileNotFoundError) as error:
            raise InputError(f"{self.path}: no file {name!r} in it") from error
        except _DAMAGED as error:
            raise InputError(f"{self.path}: {name}: damaged: {error}. Copy it again") from error
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{self.path}: {name}: not text in UTF-8: {error.reason}") from error

    def _bytes(self, name: str) -> bytes:
        if self._archive is None:
            return (self.path / name).read_bytes()
        if isinstance(self._archive, zipfile.ZipFile):
            return self._archive.read(self._members[name])
        return self._archive.extractfile(self._members[name]).read()


def open_folder(path: Path | str) -> Folder:
    """Open a folder, or a tar or zip archive, as a `Folder`."""
    return Folder(path)
