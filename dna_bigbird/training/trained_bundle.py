"""The bundle at the end of a training: settings, scores on validation, model card, history."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.card import model_card
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.core.errors import note
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.core.rounding import rounded
from dna_bigbird.metrics.calibration import calibrate, fit_lines, fit_scaling
from dna_bigbird.metrics.scores import ModelMetrics, part_score_key, parts_in
from dna_bigbird.models.label_types import REGRESSION, TRACKS
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.fit import FitResult, training_settings
from dna_bigbird.training.training_checks import validation_rows

if TYPE_CHECKING:
    from dna_bigbird.training.finetune_run import FinetuningSetup
    from dna_bigbird.training.label_training import LabelModule
    from dna_bigbird.training.objective import Objective


def with_calibration(
    setup: FinetuningSetup, task: LabelModule, training: TrainConfig, result: FitResult
) -> tuple[dict, dict[str, float]]:
    """Return the config with a correction of probabilities, fitted on validation rows, and what it changes there.

    Targets are put on the line of least squares instead, in the weights of the model.
    """
    config, labelled = setup.config(), setup.labelled
    described = BundleConfig.from_json(config)
    if not result.is_writer or described.label_type == TRACKS:
        return config, {}
    bundle = Bundle(
        task.model, described, setup.source.tokenizer, Metrics.from_json({}), labelled.path
    )
    rows = validation_rows(labelled, training.validation_examples, setup.seed)
    # A window without a base has no probability.
    rows = rows[[set(labelled.sequence(int(i))) != {"N"} for i in rows]]
    # What is corrected is what `evaluate` and `predict` give: its strands, its precision.
    values = load("dna_bigbird.evaluation.evaluate_run:model_scores")(
        bundle,
        labelled,
        rows,
        batch_size=64,
        checksum="",
        strand="forward" if described.directional else "both",
    ).values
    labels = labelled.labels_of(rows)
    if described.label_type == REGRESSION:
        return config, _put_on_lines(task, labels, values.astype(np.float64))
    scaling = fit_scaling(labels, values, described.label_type)
    if scaling is None:
        note(
            f"{labelled.path}: probabilities are not corrected: {len(rows):,} validation rows have too few "
            "positives or negatives, or higher scores are not more often positive there"
        )
        return config, {}
    corrected = scaling.probabilities(values.astype(np.float64))
    scores = calibrate(labels, corrected, labelled.label_groups, scaling).metrics()
    note(
        f"probabilities corrected on {len(rows):,} validation rows: Brier score {scores['brier_raw']:.4f} "
        f"before, {scores['brier']:.4f} after"
    )
    return config | {"calibration": asdict(scaling)}, scores


def _put_on_lines(task: LabelModule, truth_NL: NDArray, values_NL: NDArray) -> dict[str, float]:
    """Scale the outputs of a model of targets as its validation rows say; return the scores there."""
    means_L, stds_L = np.asarray(task.objective.means), np.asarray(task.objective.stds)
    slopes_L, shifts_L = fit_lines(truth_NL, values_NL)
    # An output is (target - mean) / standard deviation.
    away_L = (shifts_L + (slopes_L - 1) * means_L) / stds_L
    task.model.scale_outputs(*(torch.from_numpy(x).float() for x in (slopes_L, away_L)))
    outputs = [(x - means_L) / stds_L for x in (values_NL, values_NL * slopes_L + shifts_L)]
    before, after = (task.objective.scores(truth_NL, x) for x in outputs)
    note(
        f"targets put on a line fitted on {len(truth_NL):,} validation rows: R² {before['r2']:.4f} before, "
        f"{after['r2']:.4f} after"
    )
    loss = task.objective.loss(torch.from_numpy(outputs[1]), torch.from_numpy(truth_NL))
    return after | {"loss": float(loss)}


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
    scores = ModelMetrics(metrics)
    return TrainedModel(
        output,
        result.best_step,
        training.max_steps,
        metrics,
        score=task.monitor,
        example=task.example,
        parts=scores.described if parts_in(metrics) else "",
        network_score=scores.number(part_score_key(task.monitor, "network")),
    )


def unwritten(output: Path, training: TrainConfig, result: FitResult) -> TrainedModel:
    """Return the result of a process of the training that writes no files."""
    return TrainedModel(output, result.best_step, training.max_steps, {}, is_writer=False)


def validation_metrics(scores: dict, step: int, seed: int, **more: int | str) -> dict:
    """Return the scores of the chosen step, rounded, with what they were measured on."""
    return {**rounded(scores), **more, "step": step, "seed": seed, "split": "validation"}


def described_training(training: TrainConfig, result: FitResult) -> dict:
    """Return what a bundle's config says of its training."""
    computed = replace(training, precision=result.precision, muon_precision=result.muon_precision)
    return {
        "training": training_settings(computed),
        "examples_per_step": training.batch_size * training.accumulate * training.processes,
        "chosen_step": result.best_step,
    }
