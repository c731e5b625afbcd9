"""Hyperpartisan News (SemEval 2019 task 4, by article): two XML files joined by the article's id."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.text.data.classification_text import (
    HashedSplits,
    LabelledText,
    one_split,
    read_one_file,
)
from dna_bigbird.text.data.folders import open_folder

LABELS = ("false", "true")
ARTICLES, TRUTH = "articles-", "ground-truth-"
"""How the names of the two files begin."""


def read_xml_pair(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterable[LabelledText]:
    """Return the articles of one split, drawn by the article's id; articles without truth are in any.

    The text is the title and the paragraphs, without tags and with white space joined; the label is
    the attribute `hyperpartisan` of the ground truth.

    Args:
        path: A folder or tar archive with articles-*.xml and ground-truth-*.xml, or a folder with the
            published zip files of these names, or one zip file with both. JSON lines with `text`
            and `label` (true or false) do too.

    Raises:
        InputError: If a file is missing or no such XML, or (with `gold`) an article has no truth.
    """
    documents = read_one_file(path, split, splits, gold)
    if documents is not None:
        return documents
    files = _xml_files(path)
    if ARTICLES not in files:
        raise InputError(
            f"{path}: no articles-*.xml in it (nor in a zip file); expected the by-article set"
        )
    if gold and TRUTH not in files:
        raise InputError(
            f"{path}: articles but no ground-truth-*.xml in it; expected both files in one place"
        )
    truth = _truth(*files[TRUTH]) if TRUTH in files else {}
    where, text = files[ARTICLES]
    labelled = []
    for article in _articles(where, text):
        id_ = article.get("id", "")
        if gold and id_ not in truth:
            raise InputError(f"{where}: article {id_!r} has no ground truth; expected one for each")
        labelled.append((id_, LabelledText(id_, _plain_text(article), truth.get(id_))))
    return one_split(labelled, splits, split)


def _plain_text(article: ElementTree.Element) -> str:
    """Return title and body; a paragraph ends a word, a tag within it does not."""
    parts = [article.get("title", ""), " ", article.text or ""]
    for child in article:
        edge = " " if child.tag == "p" else ""
        parts += [edge, *child.itertext(), edge, child.tail or ""]
    return " ".join("".join(parts).split())


def _xml_files(path: Path) -> dict[str, tuple[str, str]]:
    """Return the articles and their truth: their locations and text."""
    files = {}
    for archive in (*sorted(path.glob("*.zip")), path):
        with open_folder(archive) as folder:
            for name in folder.names():
                if prefix := _prefix(name):
                    files[prefix] = (f"{archive}: {name}", folder.text(name))
    return files


def _prefix(name: str) -> str | None:
    base = name.rpartition("/")[2]
    return next(
        (k for k in (ARTICLES, TRUTH) if base.startswith(k) and base.endswith(".xml")), None
    )


def _articles(where: str, text: str) -> list[ElementTree.Element]:
    try:
        root = ElementTree.fromstring(text)  # a text, so the declared encoding is ignored
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise InputError(f"{where}:{line}: not valid XML: {error}. Copy it again") from error
    articles = root.findall("article")
    if root.tag != "articles" or not articles:
        raise InputError(
            f"{where}: found <{shortened(root.tag)}>; expected <articles> with <article>s"
        )
    for number, article in enumerate(articles):
        if not article.get("id"):
            raise InputError(f"{where}: article {number} has no id; expected one for each")
    return articles


def _truth(where: str, text: str) -> dict[str, str]:
    truth = {}
    for article in _articles(where, text):
        label = article.get("hyperpartisan")
        if label not in LABELS:
            raise InputError(
                f"{where}: article {article.get('id')!r}: hyperpartisan is {shortened(repr(label))}; "
                "expected true or false"
            )
        truth[article.get("id", "")] = label
    return truth
