"""What the readers of summaries have in common."""

import contextlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.archive_checks import BLOCK, tar_stream
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines
from dna_bigbird.text.data.folders import ZIP_MAGIC, Folder
from dna_bigbird.text.data.reading import need

OFFICIAL_SPLITS = {"train": "train", "validation": "val", "test": "test"}
"""Our names of the splits, and the files' names of them."""
SOURCE, TARGET = ".source", ".target"
"""Ends of the names of two files whose lines belong together: documents and summaries."""


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
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(
                f"{where}: {key!r} has {type(value).__name__} at position {index}, expected only texts"
            )
    return values


def holds_files(path: Path) -> bool:
    """Tell a folder, tar or zip archive from a plain file (and from nothing).

    `tarfile.is_tarfile` takes most bytes for LZMA, with a dictionary of up to 4 GiB, and fails at a cut gzip file.
    """
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
    """Yield names and texts in the order of `names`; of a tar archive all are in memory meanwhile.

    They are read in its order: a compressed archive would be unpacked again for each file out of it.
    """
    if folder.has_fast_access:
        yield from ((name, folder.text(name)) for name in names)
        return
    selected = set(names)
    texts = {name: folder.text(name) for name in folder.names() if name in selected}
    for name in names:
        yield name, texts[name]


def partner_of(path: Path) -> Path | None:
    """Return the file of summaries of a file of documents, or the other way round; else None.

    Example:
        >>> partner_of(Path("xsum/val.source"))
        PosixPath('xsum/val.target')
    """
    other = {SOURCE: TARGET, TARGET: SOURCE}.get(path.suffix)
    return path.with_suffix(other) if other else None


def line_pairs_of_files(source: Path, *, gold: bool) -> Iterator[Pair]:
    """Yield the pairs of `name.source` and of `name.target` next to it, one per line.

    Raises:
        InputError: If `source` is the file of summaries; if that file is missing (with `gold`) or
            has another number of lines.
    """
    target = partner_of(source)
    if source.suffix == TARGET:
        raise InputError(
            f"{source}: these are summaries; expected the documents: give {target}, and the "
            "summaries are read too"
        )
    summaries = None
    if gold or target.is_file():
        if not target.is_file():
            raise InputError(
                f"{target}: no such file; expected the summaries of {source}, one per line"
            )
        summaries = [line for _, line in numbered_lines(target, LONGEST_LINE)]
    documents = [line for _, line in numbered_lines(source, LONGEST_LINE)]
    yield from _line_pairs(documents, summaries, str(source), str(target))


def line_pairs_of_folder(folder: Folder, split: str, *, gold: bool) -> Iterator[Pair] | None:
    """Return the pairs of a split of a folder or archive, or None if it has no such files.

    Raises:
        InputError: If there are several files of the split; as `line_pairs_of_files`.
    """
    known = [f"{name}{SOURCE}" for name in (split, OFFICIAL_SPLITS[split])]
    sources = [name for name in folder.names() if name.rpartition("/")[2] in known]
    if not sources:
        return None
    if len(sources) > 1:
        raise InputError(
            f"{folder.path}: {sources[0]} and {sources[1]}; expected one file of the {split} split. "
            "Give the folder of one of them"
        )
    (source,) = sources
    target = source.removesuffix(SOURCE) + TARGET
    summaries = None
    if gold or target in folder.names():
        summaries = _lines(folder.text(target))
    locations = (f"{folder.path}: {name}" for name in (source, target))
    return _line_pairs(_lines(folder.text(source)), summaries, *locations)


def _lines(text: str) -> list[str]:
    return list(io.StringIO(text, newline=None))


def _line_pairs(
    documents: Sequence[str], summaries: Sequence[str] | None, source: str, target: str
) -> Iterator[Pair]:
    if summaries is not None and len(documents) != len(summaries):
        raise InputError(
            f"{target}: {len(summaries)} lines, {source} has {len(documents)}; expected one summary "
            "per document. Copy both again"
        )
    for number, document in enumerate(documents, start=1):
        summary = None if summaries is None else summaries[number - 1]
        yield Pair(f"{source}:{number}", str(number), document, summary)
