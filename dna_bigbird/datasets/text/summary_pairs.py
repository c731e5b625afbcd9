"""What the readers of summaries have in common."""

import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.datasets.text.reading import Folder, need
from dna_bigbird.errors import InputError

OFFICIAL_SPLITS = {"train": "train", "validation": "val", "test": "test"}
"""Our names of the splits, and the files' names of them."""


class Pair(NamedTuple):
    """A document and its summary as a file has them."""

    where: str
    """File and line, or archive and member, for messages."""
    id: str
    document: str
    summary: str | None
    """None if the file has none."""


def need_texts(item: dict, key: str, where: str) -> list[str]:
    """Return `item[key]`, a list of texts.

    Raises:
        InputError: If it is missing or anything else.
    """
    values = need(item, key, list, where)
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(
                f"{where}: {key!r} has {type(value).__name__} at place {place}, expected only texts"
            )
    return values


def holds_files(path: Path) -> bool:
    """Tell a folder, tar or zip archive from a plain file (and from nothing)."""
    if path.is_file():
        return tarfile.is_tarfile(path) or zipfile.is_zipfile(path)
    return path.is_dir()


def texts_of(folder: Folder, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield names and texts in the order of `names`; all of them are in memory meanwhile.

    They are read in the folder's order: a compressed archive would be unpacked anew for each file
    out of it.
    """
    wanted = set(names)
    found = {name: folder.text(name) for name in folder.names() if name in wanted}
    for name in names:
        yield name, found[name]
