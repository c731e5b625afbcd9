"""The sets of text classification by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.datasets.text import (
    arxiv_topics,
    hyperpartisan,
    imdb,
    one_file_sets,
    patents,
    yelp,
)
from dna_bigbird.datasets.text.labelled_text import HashedSplits, LabelledText
from dna_bigbird.datasets.text.reading import check_ids
from dna_bigbird.errors import InputError

Reader = Callable[[Path, str, HashedSplits | None, bool], list[LabelledText] | None]


@dataclass(frozen=True)
class ClassificationSet:
    """How a set is read and which classes it has."""

    read: Reader
    labels: tuple[str, ...] = ()
    """In the order of the logits; empty: those of the training documents, sorted."""


SETS: dict[str, ClassificationSet] = {
    "imdb": ClassificationSet(imdb.read_imdb, imdb.LABELS),
    "yelp5": ClassificationSet(yelp.read_yelp, yelp.LABELS),
    "arxiv-topics": ClassificationSet(arxiv_topics.read_arxiv_topics),
    "patents": ClassificationSet(patents.read_class_patents),
    "hyperpartisan": ClassificationSet(hyperpartisan.read_hyperpartisan, hyperpartisan.LABELS),
    "json-lines": ClassificationSet(one_file_sets.read_one_file),
}
"""'json-lines' is any set of one's own."""


def read_classification(
    name: str,
    path: Path,
    split: str,
    *,
    splits: HashedSplits | None,
    gold: bool = True,
    skip_empty: bool = False,
) -> tuple[list[LabelledText], dict[str, int]]:
    """Read one split of a set.

    Args:
        name: One of `SETS`.
        split: "train", "validation" or "test".
        splits: How splits are drawn where the files have none; None takes everything as any split.
        gold: Labels are needed.
        skip_empty: Leave out, and count, documents without text; else the first is an error.

    Returns:
        The documents, and how many were left out by reason.

    Raises:
        InputError: If a file is not as its reader expects, a label is none of the set, an id stands
            twice, or nothing is left.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    read = SETS[name].read(path, split, splits, gold)
    if read is None:
        raise InputError(
            f"{path}: expected JSON lines (a name in .jsonl), or a folder with {split}.jsonl"
        )
    documents, empty = [], 0
    for each in read:
        if each.label is not None and SETS[name].labels and each.label not in SETS[name].labels:
            raise InputError(
                f"{path}: document {each.id!r} has the label {each.label!r}; expected one of "
                f"{', '.join(SETS[name].labels)}"
            )
        if each.text.strip():
            documents.append(each)
        elif skip_empty:
            empty += 1
        else:
            raise InputError(
                f"{path}: document {each.id!r} is empty; expected text. To leave such documents out and "
                "count them: --options.skip_empty true"
            )
    if not documents:
        raise InputError(
            f"{path}: no document for the split {split!r}; expected at least one. "
            "See --options.split_shares"
        )
    check_ids((each.id for each in documents), path)
    return documents, {"document is empty": empty} if empty else {}
