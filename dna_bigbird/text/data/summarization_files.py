"""News: CNN and Daily Mail stories with highlights (Hermann et al. 2015, See et al. 2017), and BBC articles (XSum,
Narayan et al. 2018, arXiv 1808.08745)."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import parse_json
from dna_bigbird.text.data.folders import Folder, open_folder
from dna_bigbird.text.data.reading import check_items, need, read_json_lines
from dna_bigbird.text.data.summary_pairs import (
    OFFICIAL_SPLITS,
    Pair,
    holds_files,
    line_pairs_of_files,
    line_pairs_of_folder,
    need_texts,
    partner_of,
    texts_of,
)

# arXiv and PubMed papers with their abstracts (Cohan et al. 2018, arXiv 1804.05685).

SENTENCE_MARKS = ("<S>", "</S>")
"""Around every sentence of an abstract; no part of the text."""


def read_papers(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the papers of `arxiv-dataset` or `pubmed-dataset`.

    The document is the list `article_text`, the summary the list `abstract_text` without the marks
    <S> and </S>; each entry of them becomes a line. The lists `section_names` and `sections` hold
    the same article again and are not read: published scores come from `article_text`.

    Args:
        path: A file of JSON lines, plain or gzip, or a folder with train.txt, val.txt and
            test.txt (or each with .gz).

    Raises:
        InputError: If there is no such file, or a line lacks a key.
    """
    file = _split_file(path, split)
    for number, item in read_json_lines(file):
        where = f"{file}:{number}"
        summary = None
        if gold or "abstract_text" in item:
            sentences = need_texts(item, "abstract_text", where)
            summary = "\n".join(_without_marks(sentence) for sentence in sentences)
        document = "\n".join(need_texts(item, "article_text", where))
        yield Pair(where, need(item, "article_id", str, where), document, summary)


def _without_marks(sentence: str) -> str:
    for mark in SENTENCE_MARKS:
        sentence = sentence.replace(mark, " ")
    return sentence


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
    """Yield the stories of a folder or tar archive.

    A story's lines up to the first `@highlight` are the document, one paragraph per line; each line
    after an `@highlight` is a sentence of the summary. A line that ends without a mark gets " .", as the
    published scores have it (captions and highlights lack their full stop).

    Args:
        path: Holds *.story files at any depth: all of them are read, in the order of their names; or,
            if there is a list of addresses all_train.txt, all_val.txt or all_test.txt (next to them, in
            url_lists/ or in the archive), those of the split's list in its order. The SHA-1 of an
            address is the name of its story.

    Raises:
        InputError: If there is no story, or a listed one is missing.
    """
    with open_folder(path) as folder:
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
FURNITURE = frozenset(
    (
        "Share this with",
        "Email",
        "Facebook",
        "Messenger",
        "Twitter",
        "Pinterest",
        "WhatsApp",
        "Linkedin",
        "LinkedIn",
        "Copy this link",
        "These are external links and will open in a new window",
    )
)
"""Lines of the BBC's pages that are not part of an article; the published sets are without them."""


def read_articles(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the articles of files of JSON lines, of pairs of lines, or of the authors' own folder.

    Args:
        path: JSON lines with `document`, `summary` and perhaps `id`, plain or gzip, or a folder with
            train.jsonl, validation.jsonl and test.jsonl of them; or train.source, a document per
            line, with the summaries in train.target next to it, or a folder or tar archive with
            train, val (or validation) and test of them; or a folder or tar archive of *.summary files (parts headed [SN]URL[SN], [SN]TITLE[SN], [SN]FIRST-SENTENCE[SN]
            and [SN]RESTBODY[SN]; the first sentence is the summary, the rest the document): all of them
            by name, or those of the split if the authors' `SPLIT_FILE` is there too.

    Raises:
        InputError: If there is no article, a listed one is missing, or a key or part is.
    """
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
    with open_folder(path) as folder:
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
