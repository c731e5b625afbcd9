"""The baselines that are published networks, trained by the same task as the model."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
from torch import nn

from dna_bigbird.baselines.network_config import CnnPromConfig, DeePromoterConfig, DeepSeaConfig
from dna_bigbird.baselines.networks import build_network
from dna_bigbird.datasets.bases import BaseTokenizer
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.same_genome import open_labelled_set
from dna_bigbird.datasets.scores import STRANDS
from dna_bigbird.datasets.tokenized import RowsOnTheFly
from dna_bigbird.errors import InputError
from dna_bigbird.pipeline.baseline_scores import BaselineScores, save_scores
from dna_bigbird.pipeline.label_model import is_directional
from dna_bigbird.pipeline.label_training import train_on_labels
from dna_bigbird.pipeline.results import score_name
from dna_bigbird.progress import progress_bar
from dna_bigbird.tasks.config import TrainConfig
from dna_bigbird.tasks.fit import FitResult
from dna_bigbird.tasks.label_scores import mean_over_strands
from dna_bigbird.tasks.labelling import LabellingTask
from dna_bigbird.tasks.processes import is_first_on_node

NetworkConfig = CnnPromConfig | DeePromoterConfig | DeepSeaConfig


def fit_network_baseline(
    genome: Path | None,
    data: Path,
    output: Path,
    config: NetworkConfig,
    training: TrainConfig,
    *,
    checkpoints: Path,
    seed: int,
    strand: str | None,
) -> BaselineScores:
    """Train a published network and write its scores of the held-out rows.

    Args:
        strand: None for the strands that `evaluate` reads by default of a model trained as this one.
    """
    for name, is_set in (
        ("head_learning_rate", training.head_learning_rate),
        ("layer_decay", training.layer_decay < 1),
    ):
        if is_set:
            raise InputError(
                f"--training.{name} belongs to models with an encoder; a baseline network has one rate, "
                "--training.learning_rate"
            )
    labelled = open_labelled_set(data, genome, verify=is_first_on_node())
    if strand is None:
        strand = "forward" if is_directional(labelled, training.both_strands) else "both"
    tokenizer = BaseTokenizer(0 if labelled.has_one_length else labelled.window_bp)
    task, result, _ = train_on_labels(
        network_for(labelled, config, seed),
        labelled,
        tokenizer,
        training,
        max_tokens=labelled.window_bp,
        checkpoints=checkpoints,
        seed=seed,
        settings={"command": f"baseline {config.NAME}", "model": asdict(config)},
    )
    held_out = np.flatnonzero(labelled.split != 0)
    parameters = sum(p.numel() for p in task.model.parameters())
    description = (
        f"{config.describe()}, {parameters:,} parameters; {training_text(training, result)}, seed "
        f"{seed}; {STRANDS[strand]}."
    )
    if not result.is_writer:
        return BaselineScores(output, config.NAME, description, len(held_out))
    score = result.best_metrics[task.monitor]
    return save_scores(
        output,
        labelled,
        config.NAME,
        description,
        held_out,
        network_scores(task, labelled, held_out, strand),
        fit=f"{parameters} parameters, step {result.best_step}, {score_name(task.monitor)} {score:.4f} on "
        "validation",
        strand=strand,
    )


def network_for(labelled: LabelledSet, config: NetworkConfig, seed: int) -> nn.Module:
    """Return an untrained network for the windows and labels of a set.

    Raises:
        InputError: If the windows are too small for it.
    """
    try:
        return build_network(config, labelled.window_bp, len(labelled.label_names), seed=seed)
    except ValueError as error:
        raise InputError(f"{labelled.path}: {error}; build the set with a larger window") from error


def network_scores(
    task: LabellingTask, labelled: LabelledSet, rows: np.ndarray, strand: str
) -> np.ndarray:
    """Return the probabilities or targets of some rows, with a progress bar on a terminal."""
    tokenizer = BaseTokenizer(0 if labelled.has_one_length else labelled.window_bp)
    return mean_over_strands(
        task.model,
        RowsOnTheFly(labelled, rows, tokenizer, max_tokens=labelled.window_bp),
        activation=task.objective.predictions,
        strands="+-" if strand == "both" else "+",
        progress=lambda batches: progress_bar(batches, desc="score", unit="batch"),
    )


def training_text(training: TrainConfig, result: FitResult) -> str:
    """Return the chosen step and the batch size in words."""
    windows = training.batch_size * training.accumulate * training.processes
    return f"step {result.best_step} of {training.max_steps}, {windows} windows per step"
