"""Documents with a class from folders of .txt files: reviews with a rating, papers in a folder per class."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.classification_text import (
    HashedSplits,
    LabelledText,
    class_folders,
    read_one_file,
)
from dna_bigbird.text.data.folders import open_folder
from dna_bigbird.text.data.summary_pairs import texts_of

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
