"""The files of the classification sets: reviews, papers, patents, news, JSON lines; splits by hash."""

import csv
import hashlib
import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_text
from dna_bigbird.text.data.reading import Folder, need, read_json_lines, texts_of
from dna_bigbird.text.data.rows import recorded
from dna_bigbird.text.data.summarization_files import patent_items

SPLITS = ("train", "validation", "test")
FILE_NAMES = {name: name for name in SPLITS} | {"val": "validation", "dev": "validation"}
"""Names (before the first dot) of files with one split."""


@recorded("labelled-text", "dna_bigbird.datasets.text.classification_text:LabelledText")
@dataclass(frozen=True)
class LabelledText:
    """One document."""

    id: str
    text: str
    label: str | None
    """None if the file does not tell."""

    @property
    def texts(self) -> tuple[str]:
        """The text alone, as pairs have two."""
        return (self.text,)


@dataclass(frozen=True)
class HashedSplits:
    """Splits of a set that comes without them: a document's name decides, not its place."""

    # SHA-256 of "<seed>:<name>", its first 8 bytes as a fraction of 2^64, falls below the first
    # share (train), between the two (validation) or above (test).

    shares: tuple[float, float, float]
    """Of train, validation and test; they sum to 1."""
    seed: int = 0

    @classmethod
    def parse(cls, text: str, seed: int) -> "HashedSplits":
        """Read shares in percent.

        >>> HashedSplits.parse("80/10/10", seed=0).shares
        (0.8, 0.1, 0.1)
        """
        try:
            shares = tuple(float(part) for part in text.split("/"))
        except ValueError:
            shares = ()
        if len(shares) != 3 or min(shares) < 0 or abs(sum(shares) - 100) > 1e-9 or not shares[0]:
            raise ValueError(
                f"--options.split_shares {text!r}: expected the percentages of train, validation and "
                "test, such as 80/10/10"
            )
        return cls((shares[0] / 100, shares[1] / 100, shares[2] / 100), seed)

    def within_train(self) -> "HashedSplits":
        """Return the splits of a training set that has an official test set: only two."""
        both = self.shares[0] + self.shares[1]
        return HashedSplits((self.shares[0] / both, self.shares[1] / both, 0.0), self.seed)

    def split_of(self, name: str) -> str:
        """Return the split of a document; equal names always go together."""
        digest = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        fraction = int.from_bytes(digest[:8], "big") / 2**64
        if fraction < self.shares[0]:
            return "train"
        # Without a share for test, rounding must not leave a document there.
        is_test = self.shares[2] > 0 and fraction >= self.shares[0] + self.shares[1]
        return "test" if is_test else "validation"


def named_split(file: Path | str) -> str | None:
    """Return the split that a file's name says, or None.

    >>> named_split("arxiv/dev.jsonl.gz"), named_split("train.csv"), named_split("all.jsonl")
    ('validation', 'train', None)
    """
    return FILE_NAMES.get(Path(file).name.split(".")[0])


def is_json_lines(path: Path | str) -> bool:
    """Return True if a file's name is that of JSON lines."""
    return str(path).removesuffix(".gz").endswith((".jsonl", ".json", ".ndjson"))


def split_file(folder: Path, split: str) -> Path | None:
    """Return the JSON-lines file of a split in a folder, such as `dev.jsonl.gz`."""
    if not folder.is_dir():
        return None
    files = sorted(file for file in folder.iterdir() if file.is_file() and is_json_lines(file))
    return next((file for file in files if named_split(file) == split), None)


def read_labelled_lines(path: Path, *, gold: bool) -> Iterator[tuple[str, LabelledText]]:
    """Yield documents of a JSON-lines file, each after the name that decides its split."""
    # Without an `id` the text decides the split, so that equal texts stay together.
    for number, item in read_json_lines(path):
        where = f"{path}:{number}"
        text = need(item, "text", str, where)
        label = None
        if gold or item.get("label") is not None:
            label = str(need(item, "label", (str, int), where))
        id_ = str(need(item, "id", (str, int), where)) if "id" in item else None
        yield id_ or text, LabelledText(id_ or f"line-{number}", text, label)


def one_split(
    documents: Iterable[tuple[str, LabelledText]], splits: HashedSplits | None, split: str
) -> Iterator[LabelledText]:
    """Yield the documents of a split; all without splits to draw, and those without a label."""
    for name, each in documents:
        if splits is None or each.label is None or splits.split_of(name) == split:
            yield each


def class_folders(folder: Folder) -> dict[str, tuple[str, ...]]:
    """Return the .txt files, each with the folders above it, the innermost last."""
    return {name: tuple(name.split("/")[:-1]) for name in folder.names() if name.endswith(".txt")}


def read_one_file(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterator[LabelledText] | None:
    """Return the documents of a split of JSON lines; None if the path is no such file or folder."""
    # A file named like a split is taken whole; of another one `splits` draws the split.
    file = path if is_json_lines(path) else split_file(path, split)
    if file is None:
        return None
    drawn = None if named_split(file) else splits
    return one_split(read_labelled_lines(file, gold=gold), drawn, split)


RATED = ("neg", "pos")


def read_rated_reviews(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterable[LabelledText]:
    """Return the reviews of one split of `<train|test>/<pos|neg>/<number>_<rating>.txt`."""
    # `<br />` stays in the text, as in the published set; `train/unsup` is left alone.
    part = "test" if split == "test" else "train"
    documents = []
    with Folder(path) as folder:
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
    """Return the papers of one split of `<class>/<paper>.txt`, such as `cs.AI/1305.1234.txt`."""
    # The file name decides the split: a paper in two classes is in one split.
    ids = {}
    with Folder(path) as folder:
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
    """Return the articles of one split, drawn by id; those without truth are in any split."""
    # The files are in a folder, a tar archive, one zip file, or a folder with a zip file of each.
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
        with Folder(archive) as folder:
            for name in folder.names():
                if match := re.fullmatch(rf"(.*/)?({ARTICLES}|{TRUTH})[^/]*\.xml", name):
                    files[match[2]] = (f"{archive}: {name}", folder.text(name))
    return files


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
    """Return the reviews of a split; validation is drawn from `train.csv` by a review's line."""
    if path.is_file() and ".csv" in path.suffixes:
        with open_text(path) as stream:
            return [each for _, each in _rows(stream, str(path), named_split(path) or split)]
    part = "test" if split == "test" else "train"
    drawn = splits.within_train() if splits and part == "train" else None
    with Folder(path) as folder:
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


def read_class_patents(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterator[LabelledText]:
    """Return BigPatent's descriptions of one split (its own), labelled with their class letter."""
    for letter, item, where in patent_items(path, split):
        name = need(item, "publication_number", str, where)
        yield LabelledText(name, need(item, "description", str, where), letter)
