"""Training on a labelled set, for any model: shared by `finetune` and `baseline`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.corpus.piece_dropout import PieceDropout
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.streams import labelled_data
from dna_bigbird.datasets.tokenized import RowsOnTheFly, TokenizedRows, tokenize_rows
from dna_bigbird.errors import InputError
from dna_bigbird.files import sha256_of
from dna_bigbird.label_types import BINARY, MULTI_CLASS, MULTI_LABEL, REGRESSION
from dna_bigbird.pipeline.training_checks import (
    check_compiles,
    check_drawn_windows,
    check_trainable,
    validation_rows,
)
from dna_bigbird.progress import progress_bar
from dna_bigbird.tasks.config import TrainConfig
from dna_bigbird.tasks.fit import FitResult, fit
from dna_bigbird.tasks.label_objectives import (
    IndependentLabels,
    LabelObjective,
    OneClass,
    Targets,
    standardisation,
)
from dna_bigbird.tasks.labelling import (
    LabellingTask,
    note_few_positives,
    start_at_base_rates,
    start_at_shares,
)

if TYPE_CHECKING:
    from torch import nn


def train_on_labels(
    model: nn.Module,
    labelled: LabelledSet,
    tokenizer: object,
    training: TrainConfig,
    *,
    max_tokens: int,
    checkpoints: Path,
    seed: int,
    settings: dict,
) -> tuple[LabellingTask, FitResult, int]:
    """Train a model on the training rows; killed and called again it continues.

    Args:
        model: Called as models.classifier.SequenceClassifier.
        settings: What else decides the result: not the set, the seed and `training`.

    Returns:
        The task (its model has the weights of the step with the highest score on validation),
        the result of the training and the number of validation rows.

    Raises:
        InputError: If the set cannot be trained on, or the training failed (tasks.fit.fit).
    """
    check_trainable(labelled)
    rows = validation_rows(labelled, training.validation_examples, seed)
    objective = objective_for(labelled, training)
    if labelled.label_type in (BINARY, MULTI_LABEL):
        note_few_positives(int(labelled.packed_labels.positives(rows).sum()), labelled.path)
    check_compiles(training)
    train, validation = tokenized_splits(
        labelled, tokenizer, training, max_tokens=max_tokens, seed=seed
    )
    data = labelled_data(
        train,
        validation,
        seed=seed,
        batch_size=training.batch_size,
        both_strands=training.both_strands,
        accumulate=training.accumulate,
        workers=training.workers,
    )
    # The set has a checksum of its genome, and opening it compares the two.
    inputs = {"data": sha256_of(labelled.path), **settings.get("inputs", {})}
    if training.start_at_base_rates:
        set_label_biases(model, labelled, training.positive_weight)
    task = LabellingTask(model, training, objective)
    settings = {**settings, "inputs": inputs}
    result = fit(task, data, training, checkpoints=checkpoints, seed=seed, settings=settings)
    return task, result, len(validation)


def objective_for(labelled: LabelledSet, training: TrainConfig) -> LabelObjective:
    """Return the loss and the scores for the labels of a set.

    Raises:
        InputError: If positives have a weight and there are none.
    """
    if labelled.label_type in (BINARY, MULTI_LABEL):
        return IndependentLabels(training.positive_weight)
    if training.positive_weight != 1:
        raise InputError(
            f"--training.positive_weight {training.positive_weight:g} is for labels of 0 and 1; "
            f"{labelled.path} is a set of type {labelled.label_type}"
        )
    if labelled.label_type == MULTI_CLASS:
        return OneClass()
    return Targets(*standardisation(labelled.labels_of(labelled.rows("train"))))


def set_label_biases(model: nn.Module, labelled: LabelledSet, positive_weight: float) -> None:
    """Let the untrained model predict each label or class as often as it occurs in training.

    Standardised targets have a mean of 0, which an untrained model is near.
    """
    if labelled.label_type == REGRESSION:
        return
    rows = labelled.rows("train")
    if labelled.label_type == MULTI_CLASS:
        start_at_shares(model.label_layer, labelled.packed_labels.positives(rows))
        return
    positives = labelled.packed_labels.positives(rows)
    start_at_base_rates(model.label_layer, positives, len(rows), positive_weight=positive_weight)


def tokenized_splits(
    labelled: LabelledSet, tokenizer: object, training: TrainConfig, *, max_tokens: int, seed: int
) -> tuple[TokenizedRows | RowsOnTheFly, TokenizedRows]:
    """Return the training rows and the validation rows as token ids.

    Validation is read many times and is small: it is always tokenized once, without dropout.

    Raises:
        InputError: If a window has more tokens than the model reads, or `bpe_dropout` does not fit
            the vocabulary.
    """
    limits = {"max_tokens": max_tokens, "name": str(labelled.path)}

    def tokenize_once(split: str, rows, both_strands: bool) -> TokenizedRows:
        return tokenize_rows(
            labelled,
            rows,
            tokenizer,
            both_strands=both_strands,
            progress=partial(progress_bar, desc=f"tokenize {split}"),
            **limits,
        )

    train = labelled.rows("train")
    validation = validation_rows(labelled, training.validation_examples, seed)
    if training.bpe_dropout:
        dropout = PieceDropout(tokenizer, training.bpe_dropout)
        train_rows = RowsOnTheFly(labelled, train, tokenizer, dropout=dropout, seed=seed, **limits)
        check_drawn_windows(train_rows)
    elif training.tokenize == "on_the_fly":
        train_rows = RowsOnTheFly(labelled, train, tokenizer, **limits)
    else:
        train_rows = tokenize_once("train", train, training.both_strands)
    return train_rows, tokenize_once("validation", validation, False)
