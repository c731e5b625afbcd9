"""Fine-tuning on a text task, whatever it is: shared by the commands `text train-…`."""

from pathlib import Path
from typing import Annotated, Literal

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputFolder, OutputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.tasks.config import TrainConfig


@checked()
def train_text(
    kind,
    *,
    train: InputPath,
    validation: InputPath,
    pretrained: InputPath,
    output: OutputPath,
    checkpoints: OutputFolder,
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    global_blocks: Literal["first_last", "first_two", "none"] | None = None,
    training: TrainConfig = TrainConfig(),  # noqa: B008 - jsonargparse shows the default
    max_unpacked_gib: float = 0,
    threads: int = 0,
) -> TrainedModel:
    """Fine-tune, and write the bundle of the best validation; called again after a kill it goes on.

    The commands pass their `**run` on to it: types, defaults and descriptions here are theirs.

    Args:
        kind: tasks.text.task.TextTask.
        train: What the set is trained on, in its native format.
        validation: What the step is chosen by.
        pretrained: Bundle of `text pretrain`, of `text warm-start` or of `convert`: encoder and
            vocabulary.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        seed: Seed of all fresh weights, the order of examples and dropout.
        from_scratch: Take only the architecture and vocabulary of `pretrained`.
        dropout: Dropout of the model's body in this training; that of `pretrained` if not given.
        global_blocks: Blocks that every block reads; those of `pretrained` if not given. The paper's
            question answering has the first 128 tokens: first_two.
        training: How it is trained.
        max_unpacked_gib: GiB that a compressed file may become when it is read; 0: 20 times its size, at
            least 0.25.
        threads: CPU threads of one process; 0 leaves the choice to torch.

    Raises:
        InputError: If inputs are wrong or do not fit the pretrained model.
    """
    from dna_bigbird.tasks import signals

    signals.listen()  # before the imports, which take seconds

    from dna_bigbird.bundles.bundle import check_output, load_bundle
    from dna_bigbird.bundles.text_card import text_card
    from dna_bigbird.datasets.text.data import text_data
    from dna_bigbird.errors import InputError, checked_settings
    from dna_bigbird.limits import use_threads
    from dna_bigbird.pipeline.text.set_rows import (
        count_metrics,
        examples_sha256,
        rows_sha256,
        tell,
    )
    from dna_bigbird.pipeline.trained_bundle import save_trained, validation_metrics
    from dna_bigbird.pipeline.training_checks import (
        check_compiles,
        module_sha256,
        set_training_backend,
    )
    from dna_bigbird.tasks.fit import fit
    from dna_bigbird.tasks.text.module import TextModule

    check_output(output)
    use_threads(threads)
    check_compiles(training)
    if training.strategy == "fsdp":  # processes with unequal numbers of validation batches hang
        raise InputError("--training.strategy fsdp does not train text tasks; use ddp")
    bundle = load_bundle(pretrained)
    bundle.check_reads_text()
    encoder = encoder_settings(bundle, dropout, global_blocks)
    sets = read_sets(
        kind, bundle, train, validation, training.validation_examples, seed, max_unpacked_gib
    )
    for name, made in sets.items():
        tell(name, made)
    with checked_settings():
        model = kind.description.build_model(encoder, kind.head, len(kind.labels), seed)
        if not from_scratch:
            kind.start_from(model, bundle.model, seed)
    set_training_backend(model.encoder, training.attention_backend)
    task = TextModule(model, kind, training, sets["validation"])
    stream = text_data(
        sets["train"],
        sets["validation"],
        kind.collate,
        seed=seed,
        batch_size=training.batch_size,
        accumulate=training.accumulate,
        workers=training.workers,
        units=kind.units(sets["train"]),
    )
    described = describe(kind, encoder)
    inputs = {name: rows_sha256(made) for name, made in sets.items()}
    inputs["gold"] = examples_sha256(sets["validation"].examples)  # chooses the step
    inputs["model"] = module_sha256(model)
    result = fit(
        task,
        stream,
        training,
        checkpoints=checkpoints,
        seed=seed,
        settings={**described, "inputs": inputs},
    )
    described |= {"initial_weights": "random" if from_scratch else "pretrained", "seed": seed}
    counts = {"n": len(sets["validation"].examples), **count_metrics(sets["validation"].counts)}
    return save_trained(
        output,
        task,
        bundle.tokenizer,
        training,
        result,
        config=described,
        metrics=validation_metrics(result.best_metrics, result.best_step, seed, **counts),
        card=text_card,
    )


RunOptions = Annotated[object, train_text]
"""What the commands pass on to `train_text`."""


def describe(kind, encoder) -> dict:
    """Return what a bundle's config says of its task and its model."""
    from dataclasses import asdict

    return {
        "task": kind.name,
        "set": getattr(kind.options, "set", kind.name),
        "reads": "text",
        "encoder": asdict(encoder),
        "head": asdict(kind.head),
        "options": asdict(kind.options),
        "label_names": kind.labels,
    }


def encoder_settings(bundle, dropout: float | None, global_blocks: str | None):
    """Return the settings of the encoder to fine-tune: with markers, as the options want it.

    Raises:
        InputError: If an option is wrong or contradicts the pretrained settings.
    """
    from dataclasses import replace

    from dna_bigbird.errors import InputError, checked_settings
    from dna_bigbird.models.config import EncoderConfig

    if dropout is not None and not 0 <= dropout < 1:
        raise InputError(f"--dropout {dropout}: expected at least 0 and below 1")
    given = EncoderConfig(**bundle.config["encoder"])
    changes: dict = {"vocab_size": max(given.vocab_size, bundle.tokenizer.size_with_markers)}
    if dropout is not None:
        changes["dropout"] = dropout
    if global_blocks is not None:
        changes["global_blocks"] = global_blocks
    with checked_settings():
        return replace(given, **changes)


def read_sets(
    kind,
    bundle,
    train: Path,
    validation: Path,
    limit: int,
    seed: int,
    max_unpacked_gib: float = 0,
) -> dict:
    """Return the training rows and the rows of (a sample of) the validation examples.

    Args:
        limit: Validation examples, drawn at random once; 0: all.
        max_unpacked_gib: As `read_examples`.
    """
    import numpy as np

    from dna_bigbird.pipeline.text.set_rows import check_length, make_rows, read_examples

    longest = bundle.config["encoder"]["max_tokens"]
    check_length(kind, longest, bundle.folder)
    found = {
        split: read_examples(kind, path, split, max_unpacked_gib=max_unpacked_gib)
        for split, path in (("train", train), ("validation", validation))
    }
    kind.labels = kind.label_names(found["train"][0])
    examples, counts = found["validation"]
    if 0 < limit < len(examples):
        drawn = np.random.default_rng([seed, 2]).choice(len(examples), size=limit, replace=False)
        found["validation"] = [examples[i] for i in np.sort(drawn)], counts
    return {
        name: make_rows(
            kind,
            *found[name],
            bundle.tokenizer,
            path,
            training=name == "train",
            max_tokens=longest,
        )
        for name, path in (("train", train), ("validation", validation))
    }
