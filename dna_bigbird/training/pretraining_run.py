"""Pretraining on examples that are a function of their number: shared by DNA and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.fit import FitResult, fit
from dna_bigbird.training.training_checks import (
    check_compiles,
    check_no_dropout,
    set_training_backend,
)

if TYPE_CHECKING:
    from dna_bigbird.training.objective import Objective


def run_pretraining(
    task: Objective,
    examples: Mapping[str, Any],
    training: TrainConfig,
    *,
    validation_examples: int,
    checkpoints: Path,
    seed: int,
    settings: dict,
    collate: Callable = collate_pretraining,
) -> FitResult:
    """Train on `examples["train"]`; choose the step by `examples["validation"]`.

    Args:
        validation_examples: How many of the validation examples are scored.
        collate: Joins examples into a batch.
        settings, checkpoints, seed: See tasks.fit.fit.

    Raises:
        InputError: If the model cannot be trained on this machine, or the training failed.
    """
    data = pretraining_data(
        examples["train"],
        examples["validation"],
        batch_size=training.batch_size,
        validation_examples=validation_examples,
        accumulate=training.accumulate,
        workers=training.workers,
        collate=collate,
    )
    set_training_backend(task.model.encoder, training.attention_backend)
    check_compiles(training)
    check_no_dropout(training)
    return fit(task, data, training, checkpoints=checkpoints, seed=seed, settings=settings)
