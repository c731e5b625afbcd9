"""Yelp reviews with 1 to 5 stars: the official CSV files of the full review set, or JSON lines."""

import csv
import io
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_text
from dna_bigbird.text.data.classification_text import (
    HashedSplits,
    LabelledText,
    class_folders,
    named_split,
    one_split,
    read_one_file,
)
from dna_bigbird.text.data.folders import open_folder
from dna_bigbird.text.data.summary_pairs import texts_of

# Documents with a class from folders of .txt files: reviews with a rating, papers in a folder per class.

RATED = ("neg", "pos")


def read_rated_reviews(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterable[LabelledText]:
    """Return the reviews of one split; `<br />` stays in the text, as in the published set.

    A folder or archive contains `<train|test>/<pos|neg>/<number>_<rating>.txt`; the validation split
    is drawn from `train` by a review's path. `train/unsup` is left alone. A JSON-lines file, or
    `<split>.jsonl` in a folder, is taken whole: `text`, `label` (pos or neg), perhaps `id`.

    Args:
        splits: Shares of training and validation; None takes all of `train` for either.

    Raises:
        InputError: If there are no such files.
    """
    documents = read_one_file(path, split, None, gold)
    if documents is not None:
        return documents
    part = "test" if split == "test" else "train"
    documents = []
    with open_folder(path) as folder:
        for name, above in class_folders(folder).items():
            if above[-2:-1] != (part,) or above[-1] not in RATED:
                continue
            id_ = "/".join((*above[-2:], name.rpartition("/")[2].removesuffix(".txt")))
            if part == "train" and splits and splits.within_train().split_of(id_) != split:
                continue
            documents.append(LabelledText(id_, folder.text(name), above[-1]))
    if not documents:
        raise InputError(
            f"{path}: no review for the split {split!r}; expected files such as "
            f"{part}/pos/0_9.txt (aclImdb), or JSON lines"
        )
    return sorted(documents, key=lambda each: each.id)


def read_class_folders(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterator[LabelledText]:
    """Return the papers of one split, drawn by a paper's file name (or id): a paper in two classes is in one split.

    A folder or archive contains `<class>/<paper>.txt`, such as `cs.AI/1305.1234.txt`. JSON lines
    have `text`, `label`, perhaps `id`; `text.data.classification_text.read_one_file` says when they are split already.

    Raises:
        InputError: If there are no such files.
    """
    documents = read_one_file(path, split, splits, gold)
    return _papers(path, split, splits) if documents is None else documents


def _papers(path: Path, split: str, splits: HashedSplits | None) -> Iterator[LabelledText]:
    ids = {}
    with open_folder(path) as folder:
        files = class_folders(folder)
        if not any(files.values()):
            raise InputError(
                f"{path}: no paper in it; expected <class>/<paper>.txt, such as cs.AI/1305.1234.txt, "
                "or JSON lines"
            )
        for name, above in files.items():
            paper = name.rpartition("/")[2].removesuffix(".txt")
            if above and (splits is None or splits.split_of(paper) == split):
                ids[name] = f"{above[-1]}/{paper}"
        for name, text in texts_of(folder, sorted(ids, key=ids.__getitem__)):
            yield LabelledText(ids[name], text, files[name][-1])


# Hyperpartisan News (SemEval 2019 task 4, by article): two XML files joined by the article's id.

XML_LABELS = ("false", "true")
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
        if label not in XML_LABELS:
            raise InputError(
                f"{where}: article {article.get('id')!r}: hyperpartisan is {shortened(repr(label))}; "
                "expected true or false"
            )
        truth[article.get("id", "")] = label
    return truth


LABELS = ("1", "2", "3", "4", "5")
LONGEST = 1 << 24
"""Characters of the longest review."""


def read_stars(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterable[LabelledText]:
    r"""Return the reviews of one split.

    A folder or archive contains `train.csv` and `test.csv` (the validation split is drawn from the first
    by a review's line), rows `"stars","text"` without a header, quotes doubled and line ends
    written as `\n`. A CSV or JSON-lines file (`text`, `label` 1 to 5, perhaps `id`), or
    `<split>.jsonl` in a folder, is taken whole.

    Args:
        splits: Shares of training and validation; None takes all of `train.csv` for either.

    Raises:
        InputError: If there are no such files, or a row has another shape.
    """
    documents = read_one_file(path, split, None, gold)
    if documents is not None:
        return documents
    if path.is_file() and ".csv" in path.suffixes:
        with open_text(path) as stream:
            return [each for _, each in _rows(stream, str(path), named_split(path) or split)]
    part = "test" if split == "test" else "train"
    drawn = splits.within_train() if splits and part == "train" else None
    with open_folder(path) as folder:
        names = [n for n in folder.names() if n.rpartition("/")[2] == f"{part}.csv"]
        if len(names) != 1:
            raise InputError(
                f"{path}: {len(names)} files called {part}.csv in it; expected one "
                "(yelp_review_full_csv), or JSON lines"
            )
        stream = io.StringIO(folder.text(names[0]), newline=None)
        return one_split(_rows(stream, f"{path}: {names[0]}", part), drawn, split)


def _rows(stream: io.TextIOBase, where: str, part: str) -> Iterator[tuple[str, LabelledText]]:
    """Yield the rows; a review is named after the file and the line where it starts."""
    before = csv.field_size_limit(LONGEST)
    try:
        reader = csv.reader(stream, strict=True)
        start = 1
        for row in reader:
            if len(row) != 2 or row[0] not in LABELS:
                raise InputError(
                    f"{where}:{start}: found {shortened(row)}; expected two columns, 1 to 5 stars and "
                    "the text"
                )
            name = f"{part}-{start}"
            yield name, LabelledText(name, row[1].replace("\\n", "\n"), row[0])
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{where}:{start}: not valid CSV: {error}") from error
    finally:
        csv.field_size_limit(before)
