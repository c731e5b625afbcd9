"""Classification of documents: the task, its settings and its sets."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import Count, Range
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system
from dna_bigbird.text.data import classification_files as files
from dna_bigbird.text.data.classification_files import HashedSplits, LabelledText, read_one_file
from dna_bigbird.text.data.reading import check_ids

SetName = Literal["imdb", "yelp5", "arxiv-topics", "patents", "hyperpartisan", "json-lines"]


@dataclass(frozen=True)
class ClassificationOptions:
    """What is read of a classification set."""

    set: SetName = "json-lines"
    """Name of the set: 'json-lines' is one of your own: an object with `text` and `label` on every line."""
    # [CLS] a [SEP] b [SEP]
    max_tokens: Annotated[int, Range(5)] = 4096
    """Longest sequence in tokens: [CLS] and [SEP] included; a longer document is cut."""
    split_shares: str = "80/10/10"
    """Percent of train, validation and test, where the files are not split: a hash of the document's
    id decides. With an official test set the first two share the training set. Empty: take all."""
    split_seed: int = 0
    """Another number gives other splits."""
    skip_empty: bool = False
    """Leave out and count examples without text: documents; otherwise the first one is an error."""
    baseline_documents: Count = 20_000
    """Training documents on which the word-count baseline is fitted, at most; 0: no such baseline."""

    def __post_init__(self) -> None:
        check_fields(self, "options")
        self.splits  # noqa: B018 - refuses shares that do not sum to 100

    @property
    def splits(self) -> HashedSplits | None:
        """How splits are drawn where the files have none."""
        return HashedSplits.parse(self.split_shares, self.split_seed) if self.split_shares else None


@dataclass(frozen=True)
class ClassificationSet:
    """How the native files of a set are read and which classes it has; any set may come as JSON lines."""

    read: Callable[[Path, str, HashedSplits | None, bool], Iterable[LabelledText]] | None = None
    """None: there are no other files than JSON lines."""
    labels: tuple[str, ...] = ()
    """In the order of the logits; empty: those of the training documents, sorted."""
    draws_lines: bool = True
    """Splits are drawn from JSON lines that are not named like one; otherwise they are taken whole."""


READERS: dict[str, ClassificationSet] = {
    "imdb": ClassificationSet(files.read_rated_reviews, files.RATED, draws_lines=False),
    "yelp5": ClassificationSet(files.read_stars, files.LABELS, draws_lines=False),
    "arxiv-topics": ClassificationSet(files.read_class_folders),
    "patents": ClassificationSet(files.read_class_patents),
    "hyperpartisan": ClassificationSet(files.read_xml_pair, files.XML_LABELS),
    "json-lines": ClassificationSet(),
}
"""'json-lines' is any set of one's own."""
EMPTY = "document is empty"


def iter_classification(
    options: ClassificationOptions,
    path: Path,
    split: str,
    counts: dict[str, int],
    *,
    gold: bool = True,
) -> Iterator[LabelledText]:
    """Yield the documents of one split of a set."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    known, splits = READERS[options.set], options.splits
    documents = read_one_file(path, split, splits if known.draws_lines else None, gold)
    if documents is None and known.read:
        documents = known.read(path, split, splits, gold)
    if documents is None:
        raise InputError(
            f"{path}: expected JSON lines (a name in .jsonl), or a folder with {split}.jsonl"
        )
    ids = []
    for each in documents:
        if each.label is not None and known.labels and each.label not in known.labels:
            raise InputError(
                f"{path}: document {each.id!r} has the label {each.label!r}; expected one of "
                f"{', '.join(known.labels)}"
            )
        if each.text.strip():
            ids.append(each.id)
            yield each
        elif options.skip_empty:
            counts[EMPTY] = counts.get(EMPTY, 0) + 1
        else:
            raise InputError(
                f"{path}: document {each.id!r} is empty; expected text. To leave such documents out and "
                "count them: --options.skip_empty true"
            )
    if not ids:
        raise InputError(
            f"{path}: no document for the split {split!r}; expected at least one. "
            "See --options.split_shares"
        )
    check_ids(ids, path)


TASK = TaskDescription(
    name="text-classification",
    about="the class of a document: IMDb, Yelp-5, Arxiv, Patents, Hyperpartisan, or JSON lines",
    options=ClassificationOptions,
    head="dna_bigbird.models.config:HeadConfig",
    model="dna_bigbird.models.classifier:SequenceClassifier",
    sets=(
        SetDescription("imdb", ("imdb/aclImdb",), "test"),
        SetDescription("yelp5", ("yelp5",), "test"),
        SetDescription("arxiv-topics", ("arxiv-topics",), "test"),
        SetDescription("patents", ("patents",), "test"),
        SetDescription("hyperpartisan", ("hyperpartisan",), "test"),
        SetDescription("json-lines"),
    ),
    train_data="a set as it is distributed: a folder, an archive or JSON lines with text and label",
    recipe="config/text/classification",
    monitor="micro-averaged F1",
    old_command="train-classifier",
    library_class="BigBirdForSequenceClassification",
    needs_labels=True,
    synthetic=tuple(
        SyntheticText(
            name,
            f"dna_bigbird.text.made.classes:{name.replace('-', '_')}",
            "words of the class among filler, anywhere",
        )
        for name in ("imdb", "yelp5", "arxiv-topics", "patents", "hyperpartisan")
    ),
    published=(
        PublishedTable(
            15,
            "Classification of documents",
            "Micro-averaged F1 in per cent; with one label per document it is the accuracy. ± is the "
            "standard deviation of five runs.",
            (
                Column("IMDb", "imdb", ("micro_f1",)),
                Column("Yelp-5", "yelp5", ("micro_f1",)),
                Column("Arxiv", "arxiv-topics", ("micro_f1",)),
                Column("Patents", "patents", ("micro_f1",)),
                Column("Hyperpartisan", "hyperpartisan", ("micro_f1",)),
            ),
            cells_by_system("""
                Best earlier | 97.4 | 73.28 | 87.96 | 69.01 | 90.6
                RoBERTa (512) | 95.0 ± 0.2 | 71.75 | 87.42 | 67.07 | 87.8 ± 0.8
                BigBird | 95.2 ± 0.2 | 72.16 | 92.31 | 69.30 | 92.2 ± 1.7
            """),
        ),
    ),
)
