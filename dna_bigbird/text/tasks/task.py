"""The interface of a text task; the commands and `TextModule` use nothing else of it."""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.text_tasks import TaskDescription
from dna_bigbird.corpus.batches import PAD_ID, pad_right, padding_of
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.etc_encoder import GlobalTokens
from dna_bigbird.models.weight_transfer import copy_weights, with_tables
from dna_bigbird.prediction.partial_results import Outputs
from dna_bigbird.text.data.rows import TextFeatures, TextSet, row_lengths
from dna_bigbird.training.data_modules import ExampleData, LabelledOrder, chunks
from dna_bigbird.training.objective import Sums

COMMON_FIELDS = ("token_ids_BT", "is_padding_BT", "segment_ids_BT", "rows_B")
"""What every batch of text has (`common_fields`), in this order."""


def common_fields(rows: Sequence[tuple[int, TextFeatures]]) -> dict[str, Tensor]:
    """Return `COMMON_FIELDS` of numbered rows; padding is on the right."""
    ids = [row.token_ids for _, row in rows]
    segments = [
        np.zeros(len(row.token_ids), np.int8) if row.segment_ids is None else row.segment_ids
        for _, row in rows
    ]
    numbers = torch.tensor([number for number, _ in rows])
    columns = (pad_right(ids, PAD_ID), padding_of(ids), pad_right(segments, 0), numbers)
    return dict(zip(COMMON_FIELDS, columns, strict=True))


def stacked(rows: Sequence[tuple[int, TextFeatures]], name: str = "targets") -> Tensor:
    """Return an array that has the same shape in all rows, (B, …)."""
    return torch.from_numpy(np.stack([row.arrays[name] for _, row in rows]))


def known_cross_entropy(logits_BN: Tensor, targets_B: Tensor, known_B: Tensor) -> Tensor:
    """Return the cross-entropy averaged over the rows whose target is known; 0 without any."""
    losses_B = nn.functional.cross_entropy(logits_BN, targets_B.clamp(min=0), reduction="none")
    return torch.where(known_B, losses_B, 0).sum() / known_B.sum().clamp(min=1)


def json_file(values: Any) -> bytes:
    return (json.dumps(values, ensure_ascii=False) + "\n").encode()


class _NumberedRows(Dataset):
    def __init__(self, rows: Sequence[TextFeatures]) -> None:
        self.rows = rows

    def __getitem__(self, number: int) -> tuple[int, TextFeatures]:
        return number, self.rows[number]


def batches_by_length(rows: Sequence[TextFeatures], batch_size: int) -> list[list[int]]:
    """Return row numbers, `batch_size` of about equal length together."""
    return chunks(sorted(range(len(rows)), key=row_lengths(rows).__getitem__), batch_size)


def text_data(
    train: TextSet,
    validation: TextSet,
    collate: Callable[[Sequence[tuple[int, TextFeatures]]], NamedTuple],
    *,
    seed: int,
    batch_size: int,
    accumulate: int = 1,
    workers: int = 0,
    units: Sequence[Sequence[int]] | None = None,
) -> ExampleData:
    """Return the training stream over the rows, or units of rows that belong together, and a validation over all."""
    count = len(units or train.rows)
    order = LabelledOrder(count, seed=seed, batch_size=batch_size, both_strands=False)

    def micro_batch(number: int) -> list[int]:
        chosen = order.micro_batch(number)
        return [row for unit in chosen for row in units[unit]] if units else chosen

    return ExampleData(
        train=_NumberedRows(train.rows),
        train_numbers=micro_batch,
        validation=_NumberedRows(validation.rows),
        validation_batches=batches_by_length(validation.rows, batch_size),
        collate=collate,
        accumulate=accumulate,
        workers=workers,
    )


def global_tokens_of(rows: Sequence[tuple[int, TextFeatures]]) -> GlobalTokens | None:
    """Return the global tokens of numbered rows, None for rows without; padding is on the right."""
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
        encoder: What reads the rows, which decides their form; None: blocks of tokens without marks.
        labels: Class names in the order of the logits: of `label_names` in training, of the bundle later.

    Attributes:
        description: The `TASK` of the data file of the same name.
        monitor, mode: Validation metric that chooses the step, and 'min' or 'max'.
        scored_by_loss: Validation during training does not decode; see `loss_sums`.
        num_segments: Segments of its rows with attention etc.
        no_scores: Metrics that are neither better nor worse when they are higher, such as a threshold:
            they have no gain over a baseline.
        two_streams: The encoder has attention etc: rows have global tokens, where the task
            has a form with them.
        marks_global: The encoder has attention longformer: batches say which tokens are global (`is_global`).
        first_example: Number in its set of the first example that `rows` gets, as a set is read part by part.
    """

    description: ClassVar[TaskDescription]
    monitor: str
    mode: str = "max"
    scored_by_loss: ClassVar[bool] = False
    no_scores: ClassVar[frozenset[str]] = frozenset()
    num_segments: ClassVar[int] = 2

    def __init__(
        self,
        options: Any,
        head: Any,
        *,
        encoder: EncoderConfig | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        self.options, self.head, self.encoder = options, head, encoder
        self.labels = list(labels)
        attention = encoder.attention if encoder else ""
        self.two_streams, self.marks_global = attention == "etc", attention == "longformer"
        self.first_example = 0

    def changed(self, **settings: Any) -> "TextTask":
        """Return the task with other settings, by their names in the constructor."""
        same = {name: getattr(self, name) for name in ("options", "head", "encoder", "labels")}
        return type(self)(**same | settings)

    @property
    def name(self) -> str:
        """The task of the bundle."""
        return self.description.name

    def is_global(self, row: TextFeatures) -> NDArray[np.bool_]:
        """Return which tokens of a row are global with attention longformer, (T,): here the first one."""
        return np.arange(len(row.token_ids)) == 0

    def global_tokens_of(
        self, rows: Sequence[tuple[int, TextFeatures]]
    ) -> GlobalTokens | Tensor | None:
        """Return with attention etc both streams, with longformer True for global tokens (B, T), else None."""
        if self.marks_global:
            return pad_right([self.is_global(row).astype(np.int8) for _, row in rows], 0).bool()
        return global_tokens_of(rows)

    def head_from(self, config: Any) -> Any:
        """Return the settings of the head for a training that starts from a bundle: its own."""
        return self.head

    def inputs(self, path: Path) -> list[Path]:
        """Return the files and folders that `read` opens; rows are made again when one has changed."""
        return [path]

    def read(
        self, path: Path, split: str, *, gold: bool = True
    ) -> tuple[Iterable[Any], dict[str, int]]:
        """Return examples of a split, and what was left out by reason.

        The examples are a list, or `StreamedExamples` of a set that may be larger than memory.

        Args:
            gold: False: labels may be absent, as in official test files.
        """
        raise NotImplementedError

    def texts(self, examples: Iterable[Any]) -> Iterator[str]:
        """Yield the documents of the examples as plain text."""
        raise NotImplementedError

    def label_names(self, examples: Iterable[Any]) -> list[str]:
        """Return the class names of a classification set; none for other tasks."""
        return []

    def prepare(self, tokenizer: Any) -> None:
        """Check the vocabulary, and keep what `decode` needs of it; called also where rows are stored already."""

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
        """Give a fresh model the weights of a pretrained one: here the encoder's, whose tables may be smaller."""
        generator = torch.Generator().manual_seed(seed)
        grown = with_tables(pretrained.encoder, model.encoder.config, generator)
        copy_weights(grown, model.encoder)

    def collate(self, rows: Sequence[tuple[int, TextFeatures]]) -> NamedTuple:
        """Join numbered rows to a batch of tensors; see `common_fields`."""
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
        """Return the predictions of trivial baselines by name; without training examples of those that do not learn."""
        return {}


class SpanTask(TextTask):
    """A task whose rows are `[CLS] question [SEP] text`; an answer is a span of the text."""

    def is_global(self, row: TextFeatures) -> NDArray[np.bool_]:
        """Return True for [CLS], the question and its [SEP], as in Longformer's paper (appendix D)."""
        return row.segment_ids == 0

    def outputs(self, model: nn.Module, batch: Any) -> dict[str, Tensor]:
        """Return the logits `start` and `end` (B, T)."""
        inputs = (batch.token_ids_BT, batch.is_padding_BT, batch.segment_ids_BT)
        logits = model(*inputs, batch.global_tokens)
        return {"start": logits.start_BT, "end": logits.end_BT}


def task_class(name: str) -> type[TextTask]:
    description = text_tasks.describe(name)
    module = importlib.import_module(f"dna_bigbird.text.tasks.{text_tasks.module_of(name)}")
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, type) and getattr(value, "description", None) is description
    )


def task_from_config(config: Any, options: Any) -> TextTask:
    """Return the task of a `BundleConfig`, with its head, labels and encoder."""
    form = {"encoder": config.encoder, "labels": config.label_names}
    return task_class(config.task)(options, config.head, **form)


def task_for_set(name: str) -> TextTask:
    """Return the task of a set with default options."""
    description, _ = text_tasks.sets()[name]
    options = description.options()
    if hasattr(options, "set"):
        options = replace(options, set=name)
    return task_class(description.name)(options, description.head_type()())
