"""The parts of a fine-tuning on a text task: settings of the encoder, rows, training, the bundle."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.core.limits import use_threads
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.models.config import BIN, EncoderConfig, stored_encoder
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.prediction.partial_results import Outputs, as_arrays, in_order, split_rows
from dna_bigbird.text.data.row_store import StoredSet
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.set_source import SetSource, check_length, count_metrics, report_size
from dna_bigbird.text.stored_sets import stored_set
from dna_bigbird.text.tasks.task import TextTask, text_data
from dna_bigbird.training.fit import fit
from dna_bigbird.training.objective import Objective, Sums, pair
from dna_bigbird.training.trained_bundle import save_trained, validation_metrics
from dna_bigbird.training.training_checks import (
    check_compiles,
    check_no_dropout,
    module_sha256,
    set_training_backend,
)


def scores_of(task: TextTask, text_set: TextSet, outputs: list[Outputs]) -> dict[str, float]:
    """Decode and score with the official metric."""
    predictions = task.decode(text_set, outputs)
    statistics = task.statistics(text_set.examples, predictions)
    metrics = task.summarise(np.asarray(statistics, dtype=np.float64))
    return {name: float(value) for name, value in metrics.items()}  # checkpoints hold plain values


class TextModule(Objective):
    """Training of a text task; validation decodes and scores with its official metric."""

    def __init__(
        self, model: nn.Module, task: TextTask, config: TrainConfig, validation: TextSet
    ) -> None:
        super().__init__(model, config)
        self.task = task
        self.validation = validation
        self.monitor, self.mode = task.monitor, task.mode
        self._outputs: list[tuple[int, Outputs]] = []

    def examples_of(self, batch: Any) -> Tensor:
        return batch.rows_B

    def loss_and_sums(self, batch: Any) -> tuple[Tensor, Sums]:
        outputs = self.task.outputs(self.model, batch)
        loss = self.task.loss(outputs, batch)
        rows = len(batch.rows_B)
        sums = {"loss": pair(loss * rows, rows)}
        if not self.training:
            if self.task.scored_by_loss:
                sums |= self.task.loss_sums(outputs, batch)
            else:
                self._outputs += split_rows(
                    as_arrays(self.task.kept(outputs, batch)), batch.rows_B.tolist()
                )
        return loss, sums

    def on_validation_epoch_start(self) -> None:
        """Forget the rows of the validation before."""
        super().on_validation_epoch_start()
        self._outputs = []

    def on_validation_epoch_end(self) -> None:
        """Add the official metrics over the rows of all processes."""
        super().on_validation_epoch_end()
        if self.task.scored_by_loss:
            return
        rows = self._outputs
        if self.trainer.world_size > 1:
            parts: list = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, rows)
            rows = [row for part in parts for row in part]
        outputs = in_order(rows, len(self.validation.rows))
        self.validation_metrics |= scores_of(self.task, self.validation, outputs)
        self._outputs = []


def check_run(output: Path, training: TrainConfig, threads: int) -> None:
    """Check what can be checked before the data are read, and set the threads."""
    use_threads(threads)
    check_compiles(training)
    check_no_dropout(training)
    if training.strategy == "fsdp":  # processes with unequal numbers of validation batches hang
        raise InputError("--training.strategy fsdp does not train text tasks; use ddp")


def encoder_settings(
    task: TextTask,
    bundle: Bundle,
    dropout: float | None,
    changes: EncoderChanges,
    from_scratch: bool,
) -> EncoderConfig:
    """Return the settings of the encoder to fine-tune: with markers, as the options want it."""
    pretrained = bundle.config.encoder
    attention = changes.attention or pretrained.attention
    for name in changes.values:
        of_attention, _, _ = name.rpartition(".")
        if of_attention not in ("", attention):
            raise InputError(f"--{name} is for a model with attention {of_attention}")
    if not from_scratch and (others := changes.other_weights(pretrained)):
        raise InputError(
            f"--{others[0]} needs fresh weights: leave it out, or add --from_scratch true"
        )
    with checked_settings():
        encoder = changes.applied_to(pretrained)
    size = max(pretrained.vocab_size, bundle.tokenizer.size_with_markers)
    sizes = {"vocab_size": size, "dropout": dropout}
    if encoder.attention == "etc" and pretrained.num_segments:
        sizes["num_segments"] = max(pretrained.num_segments, task.num_segments)
    with checked_settings():
        return replace(encoder, **{k: v for k, v in sizes.items() if v is not None})


def stored_sets(
    task: TextTask,
    bundle: Bundle,
    paths: dict[str, Path],
    folder: Path,
    limit: int,
    seed: int,
    max_unpacked_gib: float = 0,
    threads: int = 0,
) -> tuple[TextTask, dict[str, StoredSet]]:
    """Return the task with its labels, the training rows and those of (a sample of) the validation; report both."""
    check_length(task, bundle.config.encoder.max_tokens, bundle.folder)
    sets = {}
    for split, path in paths.items():
        is_training = split == "train"
        source = SetSource(
            task,
            bundle.tokenizer,
            path,
            split,
            bundle.config.encoder.max_tokens,
            training=is_training,
            limit=0 if is_training else limit,
            seed=seed,
            max_unpacked_gib=max_unpacked_gib,
        )
        sets[split] = stored_set(folder / f"rows-{split}.h5", source, threads)
        if is_training:
            task = task.changed(labels=sets[split].labels)
    for split, rows in sets.items():
        report_size(split, rows)
    return task, sets


def start_model(
    task: TextTask, bundle: Bundle, encoder: EncoderConfig, seed: int, from_scratch: bool
) -> nn.Module:
    """Return the model of a task with the weights of the pretrained one, or with fresh ones."""
    if getattr(task.head, "pooling", None) == BIN:
        raise InputError(
            f"--head.pooling {BIN} is for DNA, and text has no bins; choose another pooling"
        )
    with checked_settings():
        model = task.description.build_model(encoder, task.head, len(task.labels), seed)
        if not from_scratch:
            task.start_from(model, bundle.model, seed)
    return model


def fit_and_save(
    task: TextTask,
    model: nn.Module,
    sets: dict[str, StoredSet],
    training: TrainConfig,
    *,
    tokenizer: object,
    output: Path,
    checkpoints: Path,
    seed: int,
    initial_weights: str,
) -> TrainedModel:
    """Train a model, and write the bundle of the best validation."""
    set_training_backend(model.encoder, training.attention_backend)
    module = TextModule(model, task, training, sets["validation"])
    stream = text_data(
        sets["train"],
        sets["validation"],
        task.collate,
        seed=seed,
        batch_size=training.batch_size,
        accumulate=training.accumulate,
        workers=training.workers,
        units=task.units(sets["train"]),
    )
    described = described_task(task, model.encoder.config)
    settings = {**described, "inputs": checksums_of(sets, model)}
    result = fit(module, stream, training, checkpoints=checkpoints, seed=seed, settings=settings)
    validation = sets["validation"]
    counts = {"n": len(validation.examples), **count_metrics(validation.counts)}
    return save_trained(
        output,
        module,
        tokenizer,
        training,
        result,
        config={**described, "initial_weights": initial_weights, "seed": seed},
        metrics=validation_metrics(result.best_metrics, result.best_step, seed, **counts),
    )


def checksums_of(sets: dict[str, StoredSet], model: nn.Module) -> dict[str, str]:
    """Return checksums of the rows, of the labels that choose the step, and of the first weights."""
    return {
        **{split: rows.rows_sha256 for split, rows in sets.items()},
        "gold": sets["validation"].examples_sha256,
        "model": module_sha256(model),
    }


def described_task(task: TextTask, encoder: EncoderConfig) -> dict:
    """Return what a bundle's config says of its task and its model."""
    return {
        "task": task.name,
        "set": getattr(task.options, "set", task.name),
        "reads": "text",
        "encoder": stored_encoder(encoder),
        "head": asdict(task.head),
        "options": asdict(task.options),
        "label_names": task.labels,
    }
