"""`dna-bigbird text pretrain`."""

from dna_bigbird.choices import checked
from dna_bigbird.corpus.whole_words import TextMaskingConfig
from dna_bigbird.errors import checked_settings
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.paths import InputPath, OutputFolder
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.shared_options import Corpus, MaxUnpackedGib, ProcessThreads, TrainedBundle
from dna_bigbird.tasks.config import TrainConfig


@checked()
def pretrain(
    train: Corpus,
    validation: InputPath,
    output: TrainedBundle,
    checkpoints: OutputFolder,
    tokenizer: InputPath | None = None,
    initial: InputPath | None = None,
    seed: int = 0,
    model: EncoderConfig = EncoderConfig(),  # noqa: B008 - jsonargparse shows the default
    masking: TextMaskingConfig = TextMaskingConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    max_unpacked_gib: MaxUnpackedGib = 0,
    threads: ProcessThreads = 0,
) -> TrainedModel:
    """Pretrain BigBird on text with masked words.

    Documents are packed to --model.max_tokens. Killed and started again with the same command, it
    goes on from the newest checkpoint and ends with the same weights. The bundle written holds the
    weights of the step with the fewest bits per token on validation.

    Args:
        validation: Corpus to choose the step by, and to score.
        checkpoints: Folder for the state of the run and the tokens of both corpora; not part of the
            result.
        tokenizer: Vocabulary: SentencePiece model or tokenizer.json, the published one for example.
        initial: Bundle to go on from, for example of `text warm-start`; it brings its vocabulary and
            its --model settings. Given too, --model changes its attention pattern, dropout and
            gradient checkpointing; other settings must be those of the bundle.
        seed: Seed of initial weights, order, masks and dropout.
        model: The encoder; its vocabulary size is taken from the vocabulary.
        masking: Which words are predicted.
        training: How it is trained.
    """
    from dna_bigbird.tasks import signals

    signals.listen()  # before the imports, which take seconds

    from dataclasses import asdict

    from dna_bigbird.bundles.save import check_output
    from dna_bigbird.corpus.piece_characters import characters_of
    from dna_bigbird.datasets.masked_batches import collate_masked
    from dna_bigbird.datasets.text.masked import MaskedTextExamples
    from dna_bigbird.datasets.text.store import text_store
    from dna_bigbird.datasets.text.unpacking import unpacked_limit
    from dna_bigbird.limits import use_threads
    from dna_bigbird.pipeline.pretraining_run import run_pretraining
    from dna_bigbird.pipeline.text.pretraining_start import start
    from dna_bigbird.pipeline.trained_bundle import unwritten
    from dna_bigbird.pipeline.training_checks import module_sha256
    from dna_bigbird.tasks.processes import is_first_on_node
    from dna_bigbird.tasks.text.mlm import MaskedTextTask

    check_output(output)
    use_threads(threads)
    bpe, network, origin = start(tokenizer, initial, model, seed)
    encoder = network.encoder.config
    first = is_first_on_node()
    with unpacked_limit(max_unpacked_gib):
        stores = {
            name: text_store(path, bpe, checkpoints / f"tokens-{name}.h5", verify=first)
            for name, path in (("train", train), ("validation", validation))
        }
    for name, store in stores.items():
        print(
            f"{name}: {store.num_documents} documents, {store.num_tokens} tokens, "
            f"{store.num_empty_documents} without text left out, {store.counts[bpe.unk_id]} unknown"
        )
    with checked_settings():
        examples = {
            name: MaskedTextExamples(
                store, bpe, encoder.max_tokens, masking, seed=2 * seed + i, in_order=bool(i)
            )
            for i, (name, store) in enumerate(stores.items())
        }
    num_validation = min(
        training.validation_examples or examples["validation"].examples_per_epoch,
        examples["validation"].examples_per_epoch,
    )
    task = MaskedTextTask(network, training, characters_of(bpe))
    settings = {
        "command": "text pretrain",
        "model": asdict(encoder),
        "masking": asdict(masking),
        "inputs": {name: store.checksum for name, store in stores.items()}
        | {"tokenizer": stores["train"].tokenizer_sha256, "weights": module_sha256(network)},
    }
    result = run_pretraining(
        task,
        examples,
        training,
        validation_examples=num_validation,
        checkpoints=checkpoints,
        seed=seed,
        settings=settings,
        collate=collate_masked,
    )
    if not result.is_writer:
        return unwritten(output, training, result)
    return _save(
        output,
        task,
        examples["validation"],
        num_validation,
        stores["train"],
        training,
        result,
        {"masking": asdict(masking), "seed": seed, "initial_weights": origin},
    )


def _save(output, task, examples, count, train_store, training, result, described: dict):
    """Score the chosen weights on validation and write the bundle."""
    from dataclasses import asdict

    from dna_bigbird.bundles.config import PRETRAINING
    from dna_bigbird.pipeline.trained_bundle import save_trained, validation_metrics
    from dna_bigbird.tasks.fit import training_device
    from dna_bigbird.tasks.text.mlm import evaluate_masked

    task.to(training_device())  # `fit` leaves it on the CPU
    metrics = evaluate_masked(
        task,
        examples,
        count,
        counts=train_store.counts,
        batch_size=training.batch_size,
        seed=described["seed"],
    )
    config = {
        "task": PRETRAINING,
        "heads": ["mlm"],
        "reads": "text",
        "label_names": [],
        "label_groups": [],
        "semi_synthetic": False,
        "encoder": asdict(task.model.encoder.config),
        "training_tokens": train_store.num_tokens,
        "training_documents": train_store.num_documents,
        **described,
    }
    return save_trained(
        output,
        task,
        examples.vocabulary,
        training,
        result,
        config=config,
        metrics=validation_metrics(metrics, result.best_step, described["seed"]),
    )
