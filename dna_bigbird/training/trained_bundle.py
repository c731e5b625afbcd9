"""The bundle at the end of a training: settings, scores on validation, model card, history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.card import model_card
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.core.rounding import rounded
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.fit import FitResult, training_settings

if TYPE_CHECKING:
    from dna_bigbird.training.objective import Objective


def save_trained(
    output: Path,
    task: Objective,
    tokenizer: object,
    training: TrainConfig,
    result: FitResult,
    *,
    config: dict,
    metrics: dict,
    extra_files: dict[str, str] | None = None,
    seen_sequences: NDArray[np.uint64] | None = None,
) -> TrainedModel:
    """Write the bundle of a finished run, in the process of the training that writes files."""
    if not result.is_writer:
        return unwritten(output, training, result)
    config = config | described_training(training, result)
    save_bundle(
        output,
        model=task.model,
        config=config,
        tokenizer=tokenizer,
        metrics=metrics,
        card=model_card(config, metrics),
        extra_files={"history.tsv": result.history, **(extra_files or {})},
        sequences_read=seen_sequences,
    )
    return TrainedModel(
        output,
        result.best_step,
        training.max_steps,
        metrics,
        score=task.monitor,
        example=task.example,
    )


def unwritten(output: Path, training: TrainConfig, result: FitResult) -> TrainedModel:
    """Return the result of a process of the training that writes no files."""
    return TrainedModel(output, result.best_step, training.max_steps, {}, is_writer=False)


def validation_metrics(scores: dict, step: int, seed: int, **counts: int) -> dict:
    """Return the scores of the chosen step, rounded, with what they were measured on."""
    return {**rounded(scores), **counts, "step": step, "seed": seed, "split": "validation"}


def described_training(training: TrainConfig, result: FitResult) -> dict:
    """Return what a bundle's config says of its training."""
    computed = replace(training, precision=result.precision, muon_precision=result.muon_precision)
    return {
        "training": training_settings(computed),
        "examples_per_step": training.batch_size * training.accumulate * training.processes,
        "chosen_step": result.best_step,
    }
