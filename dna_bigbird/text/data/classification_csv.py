"""Yelp reviews with 1 to 5 stars: the official CSV files of the full review set, or JSON lines."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_text
from dna_bigbird.text.data.classification_text import (
    HashedSplits,
    LabelledText,
    named_split,
    one_split,
    read_one_file,
)
from dna_bigbird.text.data.folders import open_folder

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
