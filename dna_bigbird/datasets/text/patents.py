"""Patents by class: JSON lines, or BigPatent's folders with their class letters.

The paper names neither format nor splits of its 663 classes; what is read here is ours.
"""

from pathlib import Path

from dna_bigbird.datasets.text.big_patent import patent_items
from dna_bigbird.datasets.text.labelled_text import HashedSplits, LabelledText
from dna_bigbird.datasets.text.one_file_sets import read_one_file
from dna_bigbird.datasets.text.reading import need


def read_class_patents(
    path: Path, split: str, splits: HashedSplits | None, gold: bool
) -> list[LabelledText]:
    """Read one split.

    JSON lines have `text`, `label` (any class name), perhaps `id`; `datasets.text.one_file_sets`
    says when they are split already. Of BigPatent's folder or archive the text is `description`, the
    label the class letter, and the splits are its own.

    Raises:
        InputError: If nothing of the kind is there.
    """
    documents = read_one_file(path, split, splits, gold)
    if documents is not None:
        return documents
    return [
        LabelledText(
            need(item, "publication_number", str, where),
            need(item, "description", str, where),
            letter,
        )
        for letter, item, where in patent_items(path, split)
    ]
