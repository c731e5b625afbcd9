"""CNN and Daily Mail stories with their highlights (Hermann et al. 2015, See et al. 2017)."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.datasets.text.folders import Folder, open_folder
from dna_bigbird.datasets.text.summary_pairs import OFFICIAL_SPLITS, Pair, texts_of
from dna_bigbird.errors import InputError

HIGHLIGHT = "@highlight"
SENTENCE_ENDS = (".", "!", "?", "'", "`", '"', "’", "”", ")")


def read_stories(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the stories of a folder or tar archive.

    A story's lines up to the first `@highlight` are the document, one paragraph a line; each line
    after an `@highlight` is a sentence of the summary. A line that ends without a mark gets " .", as the
    published scores have it (captions and highlights lack their full stop).

    Args:
        path: Holds *.story files at any depth: all of them are read, in the order of their names; or,
            if there is a list of addresses all_train.txt, all_val.txt or all_test.txt (beside, in
            url_lists/ or in the archive), those of the split's list in its order. The SHA-1 of an
            address is the name of its story.

    Raises:
        InputError: If there is no story, or a listed one is missing.
    """
    with open_folder(path) as folder:
        for name, text in texts_of(folder, _names(folder, split)):
            document, summary = _parts(text)
            summary = "\n".join(summary) if gold or summary else None
            yield Pair(f"{path}: {name}", _stem(name), "\n".join(document), summary)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".story")


def _names(folder: Folder, split: str) -> list[str]:
    stories = {_stem(name): name for name in folder.names() if name.endswith(".story")}
    if not stories:
        raise InputError(f"{folder.path}: no file of the form <name>.story in it")
    listed = f"all_{OFFICIAL_SPLITS[split]}.txt"
    lists = [name for name in folder.names() if name.rpartition("/")[2] == listed]
    if not lists:
        return sorted(stories.values())
    found = []
    for number, line in enumerate(folder.text(lists[0]).splitlines(), start=1):
        if address := line.strip():
            stem = hashlib.sha1(address.encode()).hexdigest()
            if stem not in stories:
                raise InputError(
                    f"{folder.path}: {lists[0]}:{number}: no {stem}.story for {address}; "
                    "expected every listed story in the folder"
                )
            found.append(stories[stem])
    return found


def _parts(text: str) -> tuple[list[str], list[str]]:
    """Split a story into paragraphs and highlights."""
    document, summary = [], []
    lines = [line.strip() for line in text.splitlines()]
    place, is_highlight = document, False
    for line in filter(None, lines):
        if line == HIGHLIGHT:
            place, is_highlight = summary, True
        elif place is document or is_highlight:
            place.append(line if line.endswith(SENTENCE_ENDS) else f"{line} .")
    return document, summary
