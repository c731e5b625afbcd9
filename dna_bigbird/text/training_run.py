"""The parts of a fine-tuning on a text task: settings of the encoder, rows, training, the bundle."""

from dataclasses import asdict, replace
from pathlib import Path

from torch import nn

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.core.limits import use_threads
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.models.config import BIN, EncoderConfig, stored_encoder
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.data import text_data
from dna_bigbird.text.data.row_store import StoredSet
from dna_bigbird.text.set_counts import count_metrics
from dna_bigbird.text.set_rows import check_length, report_size
from dna_bigbird.text.set_source import SetSource
from dna_bigbird.text.stored_sets import stored_set
from dna_bigbird.text.tasks.module import TextModule
from dna_bigbird.text.tasks.task import TextTask
from dna_bigbird.training.fit import fit
from dna_bigbird.training.trained_bundle import save_trained, validation_metrics
from dna_bigbird.training.training_checks import (
    check_compiles,
    check_no_dropout,
    module_sha256,
    set_training_backend,
)


def check_run(output: Path, training: TrainConfig, threads: int) -> None:
    """Check what can be checked before the data are read, and set the threads.

    Raises:
        InputError: If the output cannot be written, or a training setting does not work here.
    """
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
    """Return the settings of the encoder to fine-tune: with markers, as the options want it.

    Sets the form of the task's rows.

    Raises:
        InputError: If an option is wrong or contradicts the pretrained settings.
    """
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
    task.read_by(encoder)
    size = max(pretrained.vocab_size, bundle.tokenizer.size_with_markers)
    sizes = {"vocab_size": size, "dropout": dropout}
    if task.two_streams and pretrained.num_segments:
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
) -> dict[str, StoredSet]:
    """Return the training rows and the rows of (a sample of) the validation examples; report both.

    Args:
        paths: Data of 'train' and of 'validation'.
        folder: Folder of the run, in which the rows are kept.
        limit: Validation examples, drawn at random once; 0: all.
        max_unpacked_gib: See unpacking.
        threads: As `stored_set`.
    """
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
            task.labels = sets[split].labels
    for split, rows in sets.items():
        report_size(split, rows)
    return sets


def start_model(
    task: TextTask, bundle: Bundle, encoder: EncoderConfig, seed: int, from_scratch: bool
) -> nn.Module:
    """Return the model of a task with the weights of the pretrained one, or with fresh ones.

    Raises:
        InputError: If the head reads bins of DNA.
    """
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
    """Train a model, and write the bundle of the best validation.

    Args:
        sets: As of `stored_sets`.
        tokenizer: Vocabulary of the bundle.
        initial_weights: Where the weights of the model are from, for the bundle.
    """
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
