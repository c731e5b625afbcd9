"""A set, or one split of it, as a file of JSON lines."""

from pathlib import Path

from dna_bigbird.datasets.text.labelled_text import (
    HashedSplits,
    LabelledText,
    is_json_lines,
    named_split,
    one_split,
    read_labelled_lines,
    split_file,
)


def read_one_file(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> list[LabelledText] | None:
    """Read a split from JSON lines; None if the path is no such file or folder.

    A file called after a split (train, validation, val, dev, test), by itself or in the folder that
    was given, is taken whole. Of any other file the split is drawn by `splits`; with None it is
    taken whole too.
    """
    file = path if is_json_lines(path) else split_file(path, split)
    if file is None:
        return None
    drawn = None if named_split(file) else splits
    return one_split(read_labelled_lines(file, gold=gold), drawn, split)
