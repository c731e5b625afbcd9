"""arXiv papers by subject (He et al. 2019, 11 classes): a folder a class, or JSON lines."""

from pathlib import Path

from dna_bigbird.datasets.text.folders import open_folder
from dna_bigbird.datasets.text.labelled_text import (
    HashedSplits,
    LabelledText,
    class_folders,
)
from dna_bigbird.datasets.text.one_file_sets import read_one_file
from dna_bigbird.errors import InputError


def read_arxiv_topics(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> list[LabelledText]:
    """Read one split, drawn by a paper's file name (or id): a paper in two classes is in one split.

    A folder or archive holds `<class>/<paper>.txt`, such as `cs.AI/1305.1234.txt`. JSON lines
    have `text`, `label`, perhaps `id`; `datasets.text.one_file_sets` says when they are split already.

    Raises:
        InputError: If nothing of the kind is there.
    """
    documents = read_one_file(path, split, splits, gold)
    if documents is not None:
        return documents
    found = []
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
                id_ = f"{above[-1]}/{paper}"
                found.append(LabelledText(id_, folder.text(name), above[-1]))
    return sorted(found, key=lambda each: each.id)
