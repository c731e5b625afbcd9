"""`dna-bigbird pretrain`."""

from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import checked_settings
from dna_bigbird.core.paths import GenomePath, InputPath, optional_path
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import DryRun, TrainedModel
from dna_bigbird.core.settings import NotNegative, Share
from dna_bigbird.core.shared_options import Checkpoints, ProcessThreads, Progress, TrainedBundle
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective_config import CpcConfig, objective_of

DEFAULT_VALIDATION_EXAMPLES = 256


@checked()
@shows_progress
def pretrain(
    train: InputPath,
    validation: InputPath,
    output: TrainedBundle,
    checkpoints: Checkpoints,
    tokenizer: InputPath | None = None,
    initial: InputPath | None = None,
    seed: int = 0,
    model: EncoderConfig = EncoderConfig(),  # noqa: B008 - --help shows the default
    masking: MaskingConfig = MaskingConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    nsp_weight: NotNegative | None = None,
    cpc: CpcConfig = CpcConfig(),  # noqa: B008
    repeat_weight: NotNegative = 1.0,
    genome: GenomePath | None = None,
    sites: InputPath | None = None,
    sites_share: Share = 0.3,
    dry_run: bool = False,
    threads: ProcessThreads = 0,
    progress: Progress = True,
) -> TrainedModel | DryRun:
    """Pretrain BigBird with masked tokens and next-sentence prediction (NSP).

    With --model.attention etc contrastive predictive coding (CPC) is in the place of NSP: every
    --model.etc.tokens_per_global tokens are a sentence, and hidden ones are found among others.

    Killed and started again with the same command, it continues from the newest checkpoint and ends
    with the same weights. With other settings or inputs an unfinished run is not given up: that needs another
    folder of `checkpoints`. The states of a finished one move to a subfolder. The bundle has the weights of the step with the
    fewest bits per base on validation.

    Examples:
        dna-bigbird pretrain --train train.h5 --validation validation.h5 --tokenizer dna_bpe.model \\
            --output results/trained/pretrained --checkpoints checkpoints/pretrained
        dna-bigbird pretrain --train train.h5 --validation validation.h5 --initial results/trained/pretrained \\
            --model.attention etc --output results/trained/etc --checkpoints checkpoints/etc

    Args:
        train: Training data: token store of the training documents.
        validation: Validation data: token store of the validation documents.
        tokenizer: Tokenizer: the SentencePiece model that made both stores.
        initial: Bundle to start from: a pretrained one, instead of --tokenizer: its tokenizer, which made both
            stores, and its --model settings are used. --model can change its attention, dropout, gradient
            checkpointing and, without a table of positions, the longest sequence; with etc the weights of
            another attention go to both streams. Other settings must be those of the bundle.
        seed: Seed of the random numbers: of initial weights, examples, masks and dropout.
        model: The encoder; its vocabulary size is taken from the tokenizer.
        masking: Which tokens are predicted in training; validation hides 15 % as in the paper.
        training: How it is trained.
        nsp_weight: Weight of NSP in the loss; by default 1 as in the paper, and 0 with attention etc. 0: the
            model has no NSP head, and training examples are contiguous.
        cpc: Hidden sentences; with attention etc.
        repeat_weight: Weight of a soft-masked base in the loss of masked tokens; needs --genome. 0.1 is
            usual; figures are never weighted.
        genome: Genome: the FASTA file that the documents come from; its lower case is read for
            --repeat_weight only.
        sites: Sites: BED rows to read more often; a share of the training examples is drawn around
            their middles. Those outside the training documents are not used.
        sites_share: Share of the training examples that are drawn around --sites.
        dry_run: Dry run: print parameters, tokens per step and the memory of a GPU that the settings ask for, and
            do nothing; the inputs need not be there yet.
    """
    tokenizer, initial = optional_path(tokenizer), optional_path(initial)
    if dry_run:
        from dna_bigbird.training.pretrain_dry_run import dry_run as estimate
        from dna_bigbird.training.pretrain_dry_run import sized

        model, source = sized(model, tokenizer, initial)
        with checked_settings():
            objective_of(model, cpc, nsp_weight, repeat_weight, sites_share if sites else 0.0)
        return estimate(model, source, training, masking)

    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.training import pretrain_run as steps
    from dna_bigbird.training.pretrain_run import open_reading
    from dna_bigbird.training.pretraining_start import choose_start, run_pretraining
    from dna_bigbird.training.trained_bundle import save_trained, validation_metrics

    output = Path(output)
    start = choose_start(tokenizer, initial, model)
    encoder = start.encoder
    with checked_settings():
        objective = objective_of(
            encoder, cpc, nsp_weight, repeat_weight, sites_share if sites else 0.0
        )
    use_threads(threads)
    steps.note_masking(masking)
    corpus = steps.open_corpus(Path(train), Path(validation), start.tokenizer, start.tokenizer_file)
    reading = open_reading(
        corpus.train,
        corpus.tokenizer.piece_bp,
        objective,
        optional_path(genome),
        optional_path(sites),
    )
    examples = steps.pretraining_examples(corpus, encoder, masking, seed, objective, reading)
    validation_examples = training.validation_examples or DEFAULT_VALIDATION_EXAMPLES
    network = start.network(objective.heads, seed)
    task, collate = steps.task_of(network, training, corpus.tokenizer.piece_bp, objective)
    result = run_pretraining(
        task,
        examples,
        training,
        validation_examples=validation_examples,
        checkpoints=Path(checkpoints),
        seed=seed,
        settings=steps.run_settings(corpus, start, masking, objective, reading),
        collate=collate,
    )
    return save_trained(
        output,
        task,
        corpus.tokenizer,
        training,
        result,
        config=steps.pretrained_config(corpus, start, masking, seed, objective),
        metrics=validation_metrics(
            result.best_metrics, result.best_step, seed, n_examples=validation_examples
        ),
    )
