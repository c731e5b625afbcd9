"""Training on a labelled set, whatever the model: shared by `finetune` and `baseline`."""

from pathlib import Path

from dna_bigbird.tasks.config import TrainConfig


def train_on_labels(
    model,
    labelled,
    tokenizer,
    training: TrainConfig,
    *,
    max_tokens: int,
    checkpoints: Path,
    seed: int,
    settings: dict,
):
    """Train a model on the training rows; killed and called again it goes on.

    Args:
        model: Called as models.classifier.SequenceClassifier.
        settings: Whatever decides the result besides the set, the seed and `training`.

    Returns:
        The task (its model has the weights of the step with the highest macro AUROC on validation),
        tasks.fit.FitResult and the number of validation rows.

    Raises:
        InputError: If the set cannot be trained on, or the training failed (tasks.fit.fit).
    """
    from dna_bigbird.datasets.modules import labelled_data
    from dna_bigbird.files import sha256_of
    from dna_bigbird.pipeline.training_checks import (
        check_compiles,
        check_trainable,
        validation_rows,
    )
    from dna_bigbird.tasks.fit import fit
    from dna_bigbird.tasks.labelling import LabellingTask, note_few_positives, start_at_base_rates

    check_trainable(labelled)
    rows = validation_rows(labelled, training.validation_examples, seed)
    note_few_positives(int(labelled.packed_labels.positives(rows).sum()), labelled.path)
    check_compiles(training)
    train, validation = tokenized_splits(
        labelled, tokenizer, training, max_tokens=max_tokens, seed=seed
    )
    stream = labelled_data(
        train,
        validation,
        seed=seed,
        batch_size=training.batch_size,
        both_strands=training.both_strands,
        accumulate=training.accumulate,
        workers=training.workers,
    )
    # The set holds a checksum of its genome, and opening it compares the two.
    inputs = {"data": sha256_of(labelled.path), **settings.get("inputs", {})}
    if training.start_at_base_rates:
        rows = labelled.rows("train")
        start_at_base_rates(
            model.label_layer,
            labelled.packed_labels.positives(rows),
            len(rows),
            positive_weight=training.positive_weight,
        )
    task = LabellingTask(model, training)
    result = fit(
        task,
        stream,
        training,
        checkpoints=checkpoints,
        seed=seed,
        settings={**settings, "inputs": inputs},
    )
    return task, result, len(validation)


def tokenized_splits(labelled, tokenizer, training: TrainConfig, *, max_tokens: int, seed: int):
    """Return the training rows and the validation rows as token ids.

    Validation is read again and again and is small: it is always tokenized once.
    """
    from tqdm import tqdm

    from dna_bigbird.datasets.tokenized import RowsOnTheFly, tokenize_rows
    from dna_bigbird.pipeline.training_checks import validation_rows

    given = {"max_tokens": max_tokens, "name": str(labelled.path)}

    def once(name: str, numbers, both_strands: bool):
        return tokenize_rows(
            labelled,
            numbers,
            tokenizer,
            both_strands=both_strands,
            progress=lambda items: tqdm(items, desc=f"tokenize {name}", disable=None),
            **given,
        )

    train = labelled.rows("train")
    validation = validation_rows(labelled, training.validation_examples, seed)
    if training.tokenize == "on_the_fly":
        made = RowsOnTheFly(labelled, train, tokenizer, **given)
    else:
        made = once("train", train, training.both_strands)
    return made, once("validation", validation, False)
