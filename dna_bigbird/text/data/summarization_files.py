"""The files of the summary sets: papers, patents, news stories and BBC articles.

Cohan et al. 2018; Sharma et al. 2019; Hermann et al. 2015 and See et al. 2017; Narayan et al. 2018.
"""

import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines, parse_json
from dna_bigbird.text.data.reading import (
    OFFICIAL_SPLITS,
    SOURCE,
    TARGET,
    Folder,
    check_items,
    holds_files,
    need,
    parse_json_lines,
    partner_of,
    read_json_lines,
    texts_of,
)


class Pair(NamedTuple):
    """A document and its summary as a file has them."""

    where: str
    """File and line, or archive and member, for messages."""
    id: str
    document: str
    summary: str | None
    """None if the file has none."""


def need_texts(item: dict, key: str, where: str) -> list[str]:
    """Return `item[key]`, a list of texts."""
    values = need(item, key, list, where)
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(
                f"{where}: {key!r} has {type(value).__name__} at position {index}, expected only texts"
            )
    return values


def line_pairs_of_files(source: Path, *, gold: bool) -> Iterator[Pair]:
    """Yield the pairs of `name.source` and of `name.target` next to it, one per line."""
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
    """Return the pairs of a split of a folder or archive, or None if it has no such files."""
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


CLASSES = "abcdefghy"
"""Sections of the Cooperative Patent Classification; each has its folder."""


def read_patents(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the patents of all classes, of a folder, an archive or one file of JSON lines."""
    if not holds_files(path):
        for number, item in read_json_lines(path):
            yield _pair(item, f"{path}:{number}", gold=gold)
        return
    for _, item, where in patent_items(path, split):
        yield _pair(item, where, gold=gold)


def patent_items(path: Path, split: str) -> Iterator[tuple[str, dict, str]]:
    """Yield class letter, JSON object and location of every patent of a split."""
    pattern = re.compile(rf"(^|/){OFFICIAL_SPLITS[split]}/([{CLASSES}])/[^/]+$")
    with Folder(path) as folder:
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
    name, text = (need(item, key, str, where) for key in ("publication_number", "description"))
    return Pair(where, name, text, summary)


def read_papers(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the papers of `arxiv-dataset` or `pubmed-dataset`; each list entry becomes a line."""
    # `sections` holds the same article again: published scores come from `article_text`.
    file = _split_file(path, split)
    for number, item in read_json_lines(file):
        where = f"{file}:{number}"
        summary = None
        if gold or "abstract_text" in item:
            summary = "\n".join(need_texts(item, "abstract_text", where))
            summary = summary.replace("<S>", " ").replace("</S>", " ")
        document = "\n".join(need_texts(item, "article_text", where))
        yield Pair(where, need(item, "article_id", str, where), document, summary)


def _split_file(path: Path, split: str) -> Path:
    if not path.is_dir():
        return path
    names = [f"{OFFICIAL_SPLITS[split]}.txt{end}" for end in ("", ".gz")]
    for name in names:
        if (path / name).is_file():
            return path / name
    raise InputError(f"{path}: neither {names[0]} nor {names[1]} in it; expected one of them")


HIGHLIGHT = "@highlight"
SENTENCE_ENDS = (".", "!", "?", "'", "`", '"', "’", "”", ")")


def read_stories(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the stories of a folder or tar archive, those of all_<split>.txt if it is there."""
    # Lines up to the first `@highlight` are the document. A line that ends without a mark gets "
    # .", as the published scores have it. The SHA-1 of an address is the name of its story.
    with Folder(path) as folder:
        for name, text in texts_of(folder, _story_names(folder, split)):
            document, summary = _story_parts(text)
            summary = "\n".join(summary) if gold or summary else None
            yield Pair(f"{path}: {name}", _stem(name), "\n".join(document), summary)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0]


def _story_names(folder: Folder, split: str) -> list[str]:
    stories = {_stem(name): name for name in folder.names() if name.endswith(".story")}
    if not stories:
        raise InputError(f"{folder.path}: no file of the form <name>.story in it")
    listed = f"all_{OFFICIAL_SPLITS[split]}.txt"
    lists = [name for name in folder.names() if name.rpartition("/")[2] == listed]
    if not lists:
        return sorted(stories.values())
    names = []
    for number, line in enumerate(folder.text(lists[0]).splitlines(), start=1):
        if address := line.strip():
            stem = hashlib.sha1(address.encode()).hexdigest()
            if stem not in stories:
                raise InputError(
                    f"{folder.path}: {lists[0]}:{number}: no {stem}.story for {address}; "
                    "expected every listed story in the folder"
                )
            names.append(stories[stem])
    return names


def _story_parts(text: str) -> tuple[list[str], list[str]]:
    """Split a story into paragraphs and highlights."""
    document, summary = [], []
    lines = [line.strip() for line in text.splitlines()]
    lines_of_part, is_highlight = document, False
    for line in filter(None, lines):
        if line == HIGHLIGHT:
            lines_of_part, is_highlight = summary, True
        elif lines_of_part is document or is_highlight:
            lines_of_part.append(line if line.endswith(SENTENCE_ENDS) else f"{line} .")
    return document, summary


SPLIT_FILE = "XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json"
PARTS = ("URL", "TITLE", "FIRST-SENTENCE", "RESTBODY")
NETWORKS = "Email Facebook Messenger Twitter Pinterest WhatsApp Linkedin LinkedIn"
OTHER_LINKS = "These are external links and will open in a new window"
FURNITURE = {"Share this with", *NETWORKS.split(), "Copy this link", OTHER_LINKS}
"""Lines of the BBC's pages that are not part of an article; the published sets are without them."""


def read_articles(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the articles of JSON lines, of pairs of lines, or of the authors' own folder."""
    if path.is_file() and partner_of(path):
        yield from line_pairs_of_files(path, gold=gold)
        return
    if (path / f"{split}.jsonl").is_file():
        path = path / f"{split}.jsonl"
    if not holds_files(path):
        for number, item in read_json_lines(path):
            where = f"{path}:{number}"
            summary = need(item, "summary", str, where) if gold or "summary" in item else None
            document = need(item, "document", str, where)
            yield Pair(where, str(item.get("id", number)), document, summary)
        return
    with Folder(path) as folder:
        pairs = line_pairs_of_folder(folder, split, gold=gold)
        if pairs is not None:
            yield from pairs
            return
        for name, text in texts_of(folder, _article_names(folder, split)):
            where = f"{path}: {name}"
            parts = _article_parts(text, where)
            yield Pair(where, _stem(name), parts["RESTBODY"], parts["FIRST-SENTENCE"])


def _article_names(folder: Folder, split: str) -> list[str]:
    articles = {_stem(name): name for name in folder.names() if name.endswith(".summary")}
    if not articles:
        raise InputError(
            f"{folder.path}: no articles of the {split} split; expected {split}.jsonl (JSON lines), "
            f"or {OFFICIAL_SPLITS[split]}.source and {OFFICIAL_SPLITS[split]}.target (a line per "
            f"article), or the authors' files <number>.summary"
        )
    lists = [name for name in folder.names() if name.rpartition("/")[2] == SPLIT_FILE]
    if not lists:
        return sorted(articles.values())
    where = f"{folder.path}: {lists[0]}"
    (splits,) = check_items([parse_json(folder.text(lists[0]), where)], where)
    names = []
    for number in need_texts(splits, split, where):
        if number not in articles:
            raise InputError(
                f"{where}: no {number}.summary; expected every listed article in the folder"
            )
        names.append(articles[number])
    return names


def _article_parts(text: str, where: str) -> dict[str, str]:
    """Return the text under each head, without `FURNITURE`."""
    lines = (line for line in text.splitlines() if line.strip() not in FURNITURE)
    pieces = "\n".join(lines).split("[SN]")
    parts = dict(zip(pieces[1::2], pieces[2::2], strict=False))
    for part in PARTS:
        if part not in parts:
            raise InputError(f"{where}: no part [SN]{part}[SN]; expected {', '.join(PARTS)}")
    return parts
