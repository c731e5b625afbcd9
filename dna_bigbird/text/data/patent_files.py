"""Patents (BigPatent, Sharma et al. 2019, arXiv 1906.03741): with abstracts as summaries, or with classes."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.classification_text import HashedSplits, LabelledText, read_one_file
from dna_bigbird.text.data.folders import open_folder
from dna_bigbird.text.data.reading import need, parse_json_lines, read_json_lines
from dna_bigbird.text.data.summary_pairs import OFFICIAL_SPLITS, Pair, holds_files

CLASSES = "abcdefghy"
"""Sections of the Cooperative Patent Classification; each has its folder."""


def read_patents(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the patents of all classes; the document is `description`, the summary `abstract`.

    Args:
        path: A folder or archive as in `patent_items`; or one file of JSON lines, with any name.

    Raises:
        InputError: If the split has no file, or a line lacks a key.
    """
    if not holds_files(path):
        for number, item in read_json_lines(path):
            yield _pair(item, f"{path}:{number}", gold=gold)
        return
    for _, item, where in patent_items(path, split):
        yield _pair(item, where, gold=gold)


def patent_items(path: Path, split: str) -> Iterator[tuple[str, dict, str]]:
    """Yield the class letter, the JSON object and the location of every patent of a split.

    Args:
        path: A folder or tar archive whose files are …/train|val|test/<class letter>/<name>, each of
            JSON lines, plain or gzip (the published bigPatentData and its train.tar.gz).

    Raises:
        InputError: If the split has no file.
    """
    pattern = re.compile(rf"(^|/){OFFICIAL_SPLITS[split]}/([{CLASSES}])/[^/]+$")
    with open_folder(path) as folder:
        names = [(name, match[2]) for name in folder.names() if (match := pattern.search(name))]
        if not names:
            raise InputError(
                f"{path}: no file of the form {OFFICIAL_SPLITS[split]}/<class letter>/<name> in it"
            )
        for name, letter in names:
            # Not splitlines: it also cuts at U+2028, which JSON strings may hold.
            lines = enumerate(io.StringIO(folder.text(name), newline=None), start=1)
            shown = f"{path}: {name}"
            for number, item in parse_json_lines(lines, shown):
                yield letter, item, f"{shown}:{number}"


def _pair(item: dict, where: str, *, gold: bool) -> Pair:
    summary = need(item, "abstract", str, where) if gold or "abstract" in item else None
    return Pair(
        where,
        need(item, "publication_number", str, where),
        need(item, "description", str, where),
        summary,
    )


def read_class_patents(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterator[LabelledText]:
    """Return the patents of one split.

    JSON lines have `text`, `label` (any class name), perhaps `id`; `text.data.classification_text`
    says when they are split already. Of BigPatent's folder or archive the text is `description`, the
    label the class letter, and the splits are its own.

    Raises:
        InputError: If there are no such files.
    """
    documents = read_one_file(path, split, splits, gold)
    if documents is not None:
        return documents
    return (
        LabelledText(
            need(item, "publication_number", str, where),
            need(item, "description", str, where),
            letter,
        )
        for letter, item, where in patent_items(path, split)
    )
