"""`dna-bigbird text pretrain`."""

from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import InputPath, OutputFolder, optional_path
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.core.shared_options import (
    MaxUnpackedGib,
    ProcessThreads,
    TrainedBundle,
    TrainingCorpus,
)
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.whole_words import TextMaskingConfig
from dna_bigbird.training.objective_config import CpcConfig


@checked()
def pretrain(
    train: TrainingCorpus,
    validation: InputPath,
    output: TrainedBundle,
    checkpoints: OutputFolder,
    tokenizer: InputPath | None = None,
    initial: InputPath | None = None,
    seed: int = 0,
    model: EncoderConfig = EncoderConfig(),  # noqa: B008 - --help shows the default
    masking: TextMaskingConfig = TextMaskingConfig(),  # noqa: B008
    cpc: CpcConfig = CpcConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    max_unpacked_gib: MaxUnpackedGib = 0,
    threads: ProcessThreads = 0,
) -> TrainedModel:
    """Pretrain BigBird on text with masked words.

    Documents are packed to --model.max_tokens. Killed and started again with the same command, it
    goes on from the newest checkpoint and ends with the same weights. The bundle has the weights of the
    step with the fewest bits per token on validation.

    With --model.attention etc every sentence has a global token, and hidden sentences are found among
    others (CPC); a sentence ends with a piece that ends with a full stop, ! or ?.

    Examples:
        dna-bigbird text pretrain --train corpus.txt --validation held_out.txt --tokenizer spiece.model \\
            --output models/base --checkpoints checkpoints/base
        dna-bigbird text pretrain --train corpus.txt --validation held_out.txt --initial models/warm \\
            --output models/base --checkpoints checkpoints/base

    Args:
        validation: Validation data: corpus to choose the step by, and to score.
        checkpoints: Folder for the state of the run; not part of the result. It has the tokens of
            both corpora, too.
        tokenizer: Tokenizer: SentencePiece model or tokenizer.json, the published one for example.
        initial: Bundle to start from: for example of `text warm-start`, instead of --tokenizer: its
            vocabulary and its --model settings are used. --model can change its attention pattern,
            dropout and gradient checkpointing; other settings must be those of the bundle.
        seed: Seed of the random numbers: of initial weights, order, masks and dropout.
        model: The encoder; its vocabulary size is taken from the vocabulary.
        masking: Which words are predicted.
        cpc: Hidden sentences; with attention etc.
        training: How it is trained.
    """
    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.text import text_pretrain_run as steps
    from dna_bigbird.text.tasks.mlm import evaluate_masked
    from dna_bigbird.training.fit import training_device
    from dna_bigbird.training.pretraining_start import run_pretraining
    from dna_bigbird.training.trained_bundle import save_trained, unwritten, validation_metrics

    output, checkpoints = Path(output), Path(checkpoints)
    use_threads(threads)
    start = steps.choose_start(optional_path(tokenizer), optional_path(initial), model, seed, cpc)
    encoder = start.model.encoder.config
    paths = {"train": Path(train), "validation": Path(validation)}
    corpus = steps.tokenize_corpora(paths, start.vocabulary, checkpoints, max_unpacked_gib)
    examples = steps.masked_examples(corpus, start.vocabulary, encoder.max_tokens, masking, seed)
    all_examples = examples["validation"].examples_per_epoch
    num_validation = min(training.validation_examples or all_examples, all_examples)
    task, collate = steps.task_of(start, training, cpc)
    streams = steps.with_hidden_sentences(examples, start, cpc)
    result = run_pretraining(
        task,
        streams,
        training,
        validation_examples=num_validation,
        checkpoints=checkpoints,
        seed=seed,
        settings=steps.run_settings(corpus, start, encoder, masking, cpc),
        collate=collate,
    )
    if not result.is_writer:
        return unwritten(output, training, result)
    task.to(training_device())  # `fit` leaves it on the CPU
    scores = evaluate_masked(
        task,
        examples["validation"],
        num_validation,
        counts=corpus["train"].counts,
        batch_size=training.batch_size,
        seed=seed,
    )
    return save_trained(
        output,
        task,
        start.vocabulary,
        training,
        result,
        config=steps.bundle_config(start, corpus, masking, seed, cpc),
        metrics=validation_metrics(
            scores, result.best_step, seed, initial_weights=start.initial_weights
        ),
    )
