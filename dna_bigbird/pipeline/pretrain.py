"""`dna-bigbird pretrain`."""

from pathlib import Path

from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.paths import InputPath, OutputFolder, OutputPath
from dna_bigbird.tasks.config import TrainConfig

DEFAULT_VALIDATION_EXAMPLES = 256


def pretrain(
    train: InputPath,
    validation: InputPath,
    tokenizer: InputPath,
    output: OutputPath,
    checkpoints: OutputFolder,
    seed: int = 0,
    model: EncoderConfig = EncoderConfig(),  # noqa: B008 - jsonargparse shows the default
    masking: MaskingConfig = MaskingConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: int = 0,
) -> None:
    """Pretrain BigBird with masked tokens and next-sentence prediction.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. With other settings or inputs it starts over, says so and moves the earlier
    states to a subfolder of `checkpoints`. The bundle written holds the weights of the step with the
    fewest bits per base on validation.

    Args:
        train: Token store of the training documents.
        validation: Token store of the validation documents.
        tokenizer: SentencePiece model that made both.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        seed: Seed of initial weights, examples, masks and dropout.
        model: The encoder; its vocabulary size is taken from the tokenizer.
        masking: Which tokens are predicted.
        training: How it is trained.
        threads: CPU threads of one process; 0 leaves the choice to torch.
    """
    from dna_bigbird.tasks import signals

    signals.listen()  # before the imports, which take seconds

    from dataclasses import asdict, replace

    from dna_bigbird.bundles.bundle import check_output
    from dna_bigbird.corpus.tokenizer import DnaTokenizer
    from dna_bigbird.datasets.modules import pretraining_data
    from dna_bigbird.datasets.pretraining import PretrainExamples
    from dna_bigbird.datasets.token_store import TokenStore
    from dna_bigbird.limits import use_threads
    from dna_bigbird.models.pretraining import PretrainingModel
    from dna_bigbird.pipeline.training_checks import (
        check_compiles,
        check_tokenizer,
        set_training_backend,
        verify_stores,
    )
    from dna_bigbird.tasks.fit import fit
    from dna_bigbird.tasks.peers import is_first_on_node
    from dna_bigbird.tasks.pretraining import PretrainingTask

    check_output(output)
    use_threads(threads)
    bpe = DnaTokenizer.from_file(tokenizer)
    stores = {"train": TokenStore(train), "validation": TokenStore(validation)}
    for store in stores.values():
        check_tokenizer(store, bpe, tokenizer)
    if is_first_on_node():
        verify_stores(stores.values())
    if model.num_segments < 2:
        raise InputError(f"--model.num_segments {model.num_segments}: pairs of segments need 2")
    encoder = replace(model, vocab_size=bpe.vocab_size)
    examples = {
        # Validation examples come from another stream than training's even in the same store.
        name: PretrainExamples(store, bpe, encoder.max_tokens, masking, seed=2 * seed + number)
        for number, (name, store) in enumerate(stores.items())
    }
    num_validation = training.validation_examples or DEFAULT_VALIDATION_EXAMPLES
    task = PretrainingTask(PretrainingModel(encoder, seed=seed), training, bpe.piece_bp)
    data = pretraining_data(
        examples["train"],
        examples["validation"],
        batch_size=training.batch_size,
        validation_examples=num_validation,
        accumulate=training.accumulate,
        workers=training.workers,
    )
    settings = {
        "command": "pretrain",
        "model": asdict(encoder),
        "masking": asdict(masking),
        "inputs": {
            **{name: str(store.attributes["checksum"]) for name, store in stores.items()},
            "tokenizer": stores["train"].tokenizer_sha256,
        },
    }
    set_training_backend(task.model.encoder, training.attention_backend)
    check_compiles(training)
    result = fit(task, data, training, checkpoints=checkpoints, seed=seed, settings=settings)
    if result.is_writer:
        store = stores["train"]
        described = {
            "encoder": asdict(encoder),
            "assembly": store.assembly,
            "bp_per_token": round(total_bp(store) / store.num_tokens, 3),
            "masking": asdict(masking),
            "seed": seed,
        }
        save_pretrained(output, task, training, result, bpe, described, num_validation)


def save_pretrained(
    output: Path, task, training: TrainConfig, result, tokenizer, described: dict, examples: int
) -> None:
    """Write the bundle of a finished run with its scores on validation."""
    from dna_bigbird.bundles.bundle import PRETRAINING, save_bundle
    from dna_bigbird.bundles.card import is_semi_synthetic, model_card
    from dna_bigbird.pipeline.training_checks import described_training, round_metrics

    config = {
        "task": PRETRAINING,
        "label_names": [],
        "label_groups": [],
        "semi_synthetic": is_semi_synthetic(described["assembly"]),
        **described,
        **described_training(training, result),
    }
    metrics = {
        **round_metrics(result.best_metrics),
        "n_examples": examples,
        "step": result.best_step,
        "seed": described["seed"],
        "split": "validation",
    }
    save_bundle(
        output,
        model=task.model,
        config=config,
        tokenizer=tokenizer,
        metrics=metrics,
        card=model_card(config, metrics),
        extra_files={"history.tsv": result.history},
    )
    print(f"{output}: step {result.best_step} of {training.max_steps}: {metrics}")


def total_bp(store) -> int:
    """Return the base pairs of all documents of a store, each counted."""
    return sum(store.document_interval(d).length for d in range(store.num_documents))
