"""Documents with a class, and splits drawn by the hash of a document's name."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.text.data.folders import Folder
from dna_bigbird.text.data.reading import need, read_json_lines
from dna_bigbird.text.data.record_bytes import recorded
from dna_bigbird.text.data.rows import TextRow, TextSet

# What a classifier of text reads: [CLS] text [SEP], or [CLS] first [SEP] second [SEP].

CUT = "text longer than max_tokens, cut"


def kept_lengths(first: int, second: int, budget: int) -> tuple[int, int]:
    """Return how many pieces of a pair stay: the longer text loses its last pieces first.

    As taking one piece at a time from the longer text (of equal ones from the second) until both
    fit.

    Example:
        >>> kept_lengths(10, 3, 8), kept_lengths(10, 9, 9), kept_lengths(2, 3, 9)
        ((5, 3), (5, 4), (2, 3))
    """
    if first + second <= budget:
        return first, second
    small = min(first, second)
    if small <= budget // 2:
        return (budget - small, small) if first > second else (small, budget - small)
    return budget - budget // 2, budget // 2


def classification_rows(
    examples: Sequence[Any],
    texts: Sequence[tuple[str, ...]],
    targets: Sequence[float | None],
    tokenizer: Any,
    max_tokens: int,
) -> TextSet:
    """Return one row per example; `arrays["target"]` is a float64 number, NaN where unknown.

    White space is joined to single spaces first: to the published vocabulary a line break is an
    unknown letter. The second text of a pair, with its [SEP], is segment 1.

    Args:
        texts: One text or a pair for every example.
        targets: Class number or score; None where there is none.
        tokenizer: With `encode`, `cls_id` and `sep_id`.
    """
    rows, cut = [], 0
    for i, (parts, target) in enumerate(zip(texts, targets, strict=True)):
        pieces = [tokenizer.encode(" ".join(text.split())) for text in parts]
        lengths = _kept([len(ids) for ids in pieces], max_tokens)
        cut += lengths != [len(ids) for ids in pieces]
        ids, segments = _joined(pieces, lengths, tokenizer)
        value = np.array(np.nan if target is None else target, dtype=np.float64)
        rows.append(TextRow(ids, i, segments if len(parts) > 1 else None, {"target": value}))
    return TextSet(list(examples), rows, {CUT: cut} if cut else {})


def _kept(lengths: list[int], max_tokens: int) -> list[int]:
    if len(lengths) == 1:
        return [min(lengths[0], max_tokens - 2)]
    return list(kept_lengths(lengths[0], lengths[1], max_tokens - 3))


def _joined(
    pieces: list[NDArray], lengths: list[int], tokenizer: Any
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    ids, segments = [[tokenizer.cls_id]], [[0]]
    for number, (text, length) in enumerate(zip(pieces, lengths, strict=True)):
        ids += [text[:length], [tokenizer.sep_id]]
        segments.append([number] * (length + 1))
    return np.concatenate(ids).astype(np.int32), np.concatenate(segments).astype(np.int8)


SPLITS = ("train", "validation", "test")
FILE_NAMES = {
    "train": "train",
    "validation": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
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
    """Splits of a set that comes without them: a document's name decides, not its place.

    The first 8 bytes of SHA-256 of "<seed>:<name>", as a fraction of 2^64, fall below the first
    share (train), between the two (validation) or above (test).
    """

    shares: tuple[float, float, float]
    """Of train, validation and test; they sum to 1."""
    seed: int = 0

    @classmethod
    def parse(cls, text: str, seed: int) -> "HashedSplits":
        """Read shares in percent.

        Raises:
            ValueError: If they are not three numbers that sum to 100.

        Example:
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

    Example:
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
    """Yield documents of a JSON-lines file, each after the name that decides its split.

    A line is an object with a text, a label (text or whole number; may be absent without `gold`)
    and perhaps an `id`. Without one the id is the line's number, and the text decides the split, so
    that equal texts stay together.

    Raises:
        InputError: If a line has another shape.
    """
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
    """Yield the documents of a split; all of them if there are no splits to draw.

    A document without a label is for prediction and belongs to every split.
    """
    for name, each in documents:
        if splits is None or each.label is None or splits.split_of(name) == split:
            yield each


def class_folders(folder: Folder) -> dict[str, tuple[str, ...]]:
    """Return the .txt files, each with the folders above it, the innermost last."""
    return {name: tuple(name.split("/")[:-1]) for name in folder.names() if name.endswith(".txt")}


def read_one_file(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> Iterator[LabelledText] | None:
    """Return the documents of a split of JSON lines; None if the path is no such file or folder.

    A file named like a split (train, validation, val, dev, test), by itself or in the folder that
    was given, is taken whole. Of any other file the split is drawn by `splits`; with None it is
    taken whole too.
    """
    file = path if is_json_lines(path) else split_file(path, split)
    if file is None:
        return None
    drawn = None if named_split(file) else splits
    return one_split(read_labelled_lines(file, gold=gold), drawn, split)
