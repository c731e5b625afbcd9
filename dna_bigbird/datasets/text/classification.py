"""Classification of documents: the task, its settings, its sets."""

from dataclasses import dataclass
from typing import Literal, get_args

from dna_bigbird.datasets.text.description import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.datasets.text.labelled_text import HashedSplits
from dna_bigbird.datasets.text.option_checks import check_set, check_tokens
from dna_bigbird.datasets.text.published import Column, PublishedTable, cells_by_system

SetName = Literal["imdb", "yelp5", "arxiv-topics", "patents", "hyperpartisan", "json-lines"]


@dataclass(frozen=True)
class ClassificationOptions:
    """What is read of a classification set."""

    set: SetName = "json-lines"
    """The set; 'json-lines' is one of your own: an object with `text` and `label` on every line."""
    max_tokens: int = 4096
    """Tokens of an input, [CLS] and [SEP] included; a longer document is cut."""
    split_shares: str = "80/10/10"
    """Percent of train, validation and test, where the files are not split: a hash of the document's
    id decides. Beside an official test set the first two share the training set. Empty: take all."""
    split_seed: int = 0
    """Another number gives other splits."""
    skip_empty: bool = False
    """Leave out and count documents without text; otherwise the first one is an error."""
    baseline_documents: int = 20_000
    """Training documents on which the word-count baseline is fitted, at most; 0: no such baseline."""

    def __post_init__(self) -> None:
        check_set(self.set, get_args(SetName))
        check_tokens(self.max_tokens)
        self.splits  # noqa: B018 - refuses shares that do not sum to 100
        if self.baseline_documents < 0:
            raise ValueError(
                f"--options.baseline_documents {self.baseline_documents} must not be negative"
            )

    @property
    def splits(self) -> HashedSplits | None:
        """How splits are drawn where the files have none."""
        return HashedSplits.parse(self.split_shares, self.split_seed) if self.split_shares else None


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
    needs_labels=True,
    synthetic=tuple(
        SyntheticText(
            name,
            f"dna_bigbird.demo.text.classes:{name.replace('-', '_')}",
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
