"""The interface of a text task; the commands and `TextModule` use nothing else of it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.bundles.text_tasks import TaskDescription
from dna_bigbird.corpus.batches import pad_right, padding_of
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.etc_encoder import GlobalTokens
from dna_bigbird.models.weight_transfer import copy_weights, with_tables
from dna_bigbird.prediction.partial_results import Outputs
from dna_bigbird.text.data.rows import TextRow, TextSet
from dna_bigbird.training.objective import Sums

# The global tokens of a batch of text rows.


def global_tokens_of(rows: Sequence[tuple[int, TextRow]]) -> GlobalTokens | None:
    """Return the global tokens of numbered rows, None for rows without; padding is on the right.

    Args:
        rows: With the arrays of `text.data.two_streams.TwoStreams`, or without.
    """
    arrays = [row.arrays for _, row in rows]
    if "global_types" not in arrays[0]:
        return None
    joined = {
        name: pad_right([of_row[name] for of_row in arrays], 0)
        for name in ("global_types", "parts", "global_parts", "free_global")
    }
    return GlobalTokens.of_links(
        joined["global_types"],
        padding_of([of_row["global_types"] for of_row in arrays]),
        padding_of([row.token_ids for _, row in rows]),
        [torch.from_numpy(of_row["links"]).long() for of_row in arrays],
        long_segments=joined["parts"],
        global_segments=joined["global_parts"],
        free_global=joined["free_global"].bool(),
    )


class TextTask:
    """One text task: reading, rows, loss, decoding and the official metric, glued together.

    Args:
        options: Settings of type `description.options`; a bundle keeps them.
        head: Settings of type `description.head_type()`.

    Attributes:
        description: The `TASK` of the data file of the same name.
        monitor, mode: Validation metric that chooses the step, and 'min' or 'max'.
        scored_by_loss: Validation during training does not decode; see `loss_sums`.
        num_segments: Segments of its rows with attention etc.
        no_scores: Metrics that are neither better nor worse when they are higher, such as a threshold:
            they have no gain over a baseline.
        labels: Class names in the order of the logits: of `label_names` in training, of the
            bundle later. Set by the caller before `rows`.
        two_streams: The encoder has attention etc: rows have global tokens, where the task
            has a form with them. Set by the caller before `rows` (`read_by`).
        marks_global: The encoder has attention longformer: batches say which tokens are global (`is_global`).
        first_example: Number in its set of the first example that `rows` gets, as a set is read part by part.
    """

    description: ClassVar[TaskDescription]
    monitor: str
    mode: str = "max"
    scored_by_loss: ClassVar[bool] = False
    no_scores: ClassVar[frozenset[str]] = frozenset()
    num_segments: ClassVar[int] = 2

    def __init__(self, options: Any, head: Any) -> None:
        self.options = options
        self.head = head
        self.labels: list[str] = []
        self.two_streams = self.marks_global = False
        self.first_example = 0

    @property
    def name(self) -> str:
        """The task of the bundle."""
        return self.description.name

    def read_by(self, encoder: EncoderConfig) -> None:
        """Set the form of the rows to the one that an encoder reads."""
        self.two_streams = encoder.attention == "etc"
        self.marks_global = encoder.attention == "longformer"

    def is_global(self, row: TextRow) -> NDArray[np.bool_]:
        """Return which tokens of a row are global with attention longformer, (T,): here the first one."""
        return np.arange(len(row.token_ids)) == 0

    def global_tokens_of(self, rows: Sequence[tuple[int, TextRow]]) -> GlobalTokens | Tensor | None:
        """Return the global tokens of numbered rows.

        Returns:
            With attention etc those of both streams, with longformer True for global tokens (B, T), else
            None.
        """
        if self.marks_global:
            return pad_right([self.is_global(row).astype(np.int8) for _, row in rows], 0).bool()
        return global_tokens_of(rows)

    def head_from(self, config: Any) -> Any:
        """Return the settings of the head for a training that starts from a model: its own.

        Args:
            config: BundleConfig of the model.
        """
        return self.head

    def inputs(self, path: Path) -> list[Path]:
        """Return the files and folders that `read` opens; rows are made again when one has changed."""
        return [path]

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[Iterable[Any], dict[str, int]]:
        """Read the native files.

        Args:
            path: A file or folder, as the set is distributed.
            split: 'train', 'validation' or 'test'.
            gold: False: labels may be absent, as in official test files.

        Returns:
            Examples, and what was left out by reason: a list, or `StreamedExamples` and its counts for
            sets that may be larger than memory.

        Raises:
            InputError: Naming file, line or item.
        """
        raise NotImplementedError

    def texts(self, examples: Iterable[Any]) -> Iterator[str]:
        """Yield the documents of the examples as plain text."""
        raise NotImplementedError

    def label_names(self, examples: Iterable[Any]) -> list[str]:
        """Return the class names of a classification set; none for other tasks."""
        return []

    def prepare(self, tokenizer: Any) -> None:
        """Check the vocabulary, and keep what `decode` needs of it; called also where rows are stored already.

        Raises:
            InputError: If task and vocabulary do not fit.
        """

    def rows(self, examples: Sequence[Any], tokenizer: Any, *, training: bool) -> TextSet:
        """Return what the model reads.

        Args:
            examples: Of the set, or a part of them (`first_example`).
            training: With targets; examples that cannot be trained on are dropped and counted.
        """
        raise NotImplementedError

    def units(self, text_set: TextSet) -> list[list[int]] | None:
        """Return row numbers that one training batch must hold together; None: each row alone."""
        return None

    def start_from(self, model: nn.Module, pretrained: nn.Module, seed: int) -> None:
        """Give a fresh model the weights of a pretrained one: here the encoder's.

        Args:
            pretrained: Has `.encoder`, of the same settings but for the sizes of its tables.
            seed: Of the word vectors that it lacks.
        """
        generator = torch.Generator().manual_seed(seed)
        grown = with_tables(pretrained.encoder, model.encoder.config, generator)
        copy_weights(grown, model.encoder)

    def collate(self, rows: Sequence[tuple[int, TextRow]]) -> NamedTuple:
        """Join numbered rows to a batch of tensors; see datasets.text.data.common_fields."""
        raise NotImplementedError

    def outputs(self, model: nn.Module, batch: Any) -> dict[str, Tensor]:
        """Return the model's outputs; the first dimension of each is the batch's."""
        raise NotImplementedError

    def loss(self, outputs: dict[str, Tensor], batch: Any) -> Tensor:
        """Return the loss to minimise: a scalar, the mean over rows or tokens."""
        raise NotImplementedError

    def loss_sums(self, outputs: dict[str, Tensor], batch: Any) -> Sums:
        """Return validation figures as (numerator, denominator), where `scored_by_loss`."""
        raise NotImplementedError

    def kept(self, outputs: dict[str, Tensor], batch: Any) -> dict[str, Tensor]:
        """Return what `decode` needs of the outputs; all rows of a set are held in memory."""
        return outputs

    def predict_outputs(self, model: nn.Module, batch: Any) -> dict[str, Tensor]:
        """Return what `decode` needs, without a loss."""
        return self.kept(self.outputs(model, batch), batch)

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[Any]:
        """Return one prediction per example, in order.

        Args:
            outputs: `outputs[i]` belongs to `text_set.rows[i]`; token dimensions are as long as the
                batch was, so cut them by `len(row.token_ids)`.
        """
        raise NotImplementedError

    def statistics(
        self, examples: Sequence[Any], predictions: Sequence[Any]
    ) -> NDArray[np.float64]:
        """Return (n, k): what the official metric needs of each example."""
        raise NotImplementedError

    def summarise(self, statistics: NDArray[np.float64]) -> dict[str, float]:
        """Return the official metrics of rows of `statistics`."""
        raise NotImplementedError

    def submission(self, examples: Sequence[Any], predictions: Sequence[Any]) -> dict[str, bytes]:
        """Return the predictions in the official format: file name to content."""
        raise NotImplementedError

    def baselines(
        self, train_examples: Iterable[Any] | None, examples: Sequence[Any]
    ) -> dict[str, list[Any]]:
        """Return the predictions of trivial baselines by name.

        Args:
            train_examples: For baselines that learn; None leaves them out.
        """
        return {}
