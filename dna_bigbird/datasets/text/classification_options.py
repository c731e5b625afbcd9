"""Settings of text classification and of GLUE; read without torch."""

from dataclasses import dataclass
from typing import Literal, get_args

from dna_bigbird.datasets.text.labelled_text import HashedSplits

SetName = Literal["imdb", "yelp5", "arxiv-topics", "patents", "hyperpartisan", "json-lines"]
GlueTask = Literal["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"]


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
        _check_set(self.set, get_args(SetName))
        _check_tokens(self.max_tokens)
        self.splits  # noqa: B018 - refuses shares that do not sum to 100
        if self.baseline_documents < 0:
            raise ValueError(
                f"--options.baseline_documents {self.baseline_documents} must not be negative"
            )

    @property
    def splits(self) -> HashedSplits | None:
        """How splits are drawn where the files have none."""
        return HashedSplits.parse(self.split_shares, self.split_seed) if self.split_shares else None


@dataclass(frozen=True)
class GlueOptions:
    """What is read of a GLUE task."""

    set: GlueTask = "sst2"
    """The task."""
    max_tokens: int = 512
    """Tokens of an input, [CLS] and [SEP] included; of a longer pair the longer text is cut first."""

    def __post_init__(self) -> None:
        _check_set(self.set, get_args(GlueTask))
        _check_tokens(self.max_tokens)


def _check_set(name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise ValueError(f"--options.set {name!r} is not one of {', '.join(known)}")


def _check_tokens(max_tokens: int) -> None:
    if max_tokens < 5:
        raise ValueError(
            f"--options.max_tokens {max_tokens} must be at least 5: [CLS] a [SEP] b [SEP]"
        )
