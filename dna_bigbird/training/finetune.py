"""`dna-bigbird finetune`."""

from pathlib import Path
from typing import Literal

from dna_bigbird.bundles.model_options import ModelBundle
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import (
    InputPath,
    OutputFolder,
    named_paths,
    next_to,
    optional_path,
)
from dna_bigbird.core.progress import shows_progress
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.core.settings import Count, ShareBelowOne
from dna_bigbird.core.shared_options import (
    ModelOutput,
    ProcessThreads,
    Progress,
    SetGenome,
    TrainedBundle,
)
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.kmer_config import KmersConfig
from dna_bigbird.models.lora_config import LoraConfig
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig


@checked()
@shows_progress
def finetune(
    genome: SetGenome | None = None,
    data: InputPath | None = None,
    pretrained: ModelBundle | None = None,
    output: TrainedBundle | None = None,
    checkpoints: OutputFolder | None = None,
    seed: int = 0,
    from_scratch: bool = False,
    tokenizer: InputPath | None = None,
    model: EncoderChanges = EncoderChanges(),  # noqa: B008 - --help shows the default
    dropout: ShareBelowOne | None = None,
    freeze: Literal["encoder"] | None = None,
    lora: LoraConfig = LoraConfig(),  # noqa: B008
    head: LabelHeadConfig = LabelHeadConfig(),  # noqa: B008
    words: KmersConfig = KmersConfig(),  # noqa: B008
    training: LabelTrainConfig = LabelTrainConfig(),  # noqa: B008
    search: Count = 0,
    threads: ProcessThreads = 0,
    progress: Progress = True,
    scored: ModelOutput | None = None,
) -> TrainedModel:
    """Fine-tune a pretrained model on a labelled set.

    Killed and started again with the same command, it continues from the newest checkpoint and ends
    with the same weights. With other settings or inputs an unfinished run is not given up: that needs another
    folder of `checkpoints`. The states of a finished one move to a subfolder. The bundle has the weights of the step with the
    highest score on validation: macro AUROC of labels, Matthews correlation of classes, Pearson correlation
    of targets.

    Examples:
        dna-bigbird finetune --data set.h5 --output model --scored scored
        dna-bigbird finetune --genome hg19.fa --data chromatin.h5 --output results/trained/chromatin
        dna-bigbird finetune --genome hg19.fa --data chromatin.h5 --output results/trained/seed1 --seed 1
        dna-bigbird finetune --genome hg19.fa --data promoters.h5 --tokenizer bases --output results/trained/small

    Args:
        data: Labelled set: made by sequence-set, promoter-set or chromatin-set.
        pretrained: Pretrained bundle: encoder and tokenizer of `dna-bigbird pretrain`, `convert` or
            `finetune`; if not given, the bundled encoder.
        checkpoints: Folder for the state of the run; not part of the result. By default the path of
            `output` with `.checkpoints` added.
        seed: Seed of the random numbers: of the label head, the order of windows and dropout.
        from_scratch: Take only the architecture and tokenizer of `pretrained`: weights are drawn
            fresh, to see what pretraining is worth.
        tokenizer: Tokenizer: 'bases' (one token per base) or a SentencePiece model of `train-tokenizer`,
            for a small encoder with fresh weights instead of `pretrained`: 2 layers of width 128, rotary
            positions, a convolution over 9 tokens.
        model: Settings of the encoder that differ from those of `pretrained`, or of the small one of
            `tokenizer`. Those that weights depend on need fresh weights (`from_scratch`).
        dropout: Dropout: of the encoder in this training; if not given that of `pretrained`, 0.2 of the bundled
            encoder. A few
            thousand examples are soon memorised without any.
        freeze: What keeps its weights: 'encoder' trains the head alone, a probe of what pretraining gave.
        lora: Low-rank updates of the encoder instead of training all of its weights; the bundle has them
            added to its matrices.
        head: How labels are read off the encoder.
        words: Counts next to the encoder: of k-mers, and of bases by position.
        training: How it is trained. Steps and rates that are not given are chosen for the number of training
            rows (docs/tutorials/your-peaks.md); a note names them and the bundle records them.
        search: Number of recipes to try: the one above and random ones around it (docs/how-to/fine-tune.md); the
            best on the validation rows is kept, and all are recorded. 0: none.
        scored: Also score the test rows: a bundle (folder) to write, as `dna-bigbird evaluate` does, next to
            the baselines of `dna-bigbird baseline` that take seconds, on the same rows (SCORED.kmer.h5 and so
            on): kmer, gc, composition; for windows of one length without labelled bins positional; for start
            sites motif.
    """
    from dna_bigbird.baselines.recipe_search import check_search
    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.labelled.labelled_set import open_labelled_set
    from dna_bigbird.models.lora import merge
    from dna_bigbird.training import finetune_run as steps
    from dna_bigbird.training.encoder_source import note_source, open_source
    from dna_bigbird.training.finetune_run import chosen_recipe, score_trained, train
    from dna_bigbird.training.kmer_counts import add_kmers, kmers_for
    from dna_bigbird.training.processes import is_first_on_node
    from dna_bigbird.training.trained_bundle import (
        save_trained,
        validation_metrics,
        with_calibration,
    )

    data, output = named_paths(data=data, output=output)
    check_trained_part(freeze, lora)
    test_output = optional_path(scored)
    use_threads(threads)
    source = open_source(pretrained, optional_path(tokenizer), model, from_scratch=from_scratch)
    labelled = open_labelled_set(data, optional_path(genome), verify=is_first_on_node())
    source = source.for_windows(labelled.window_bp)
    if is_first_on_node():
        note_source(source, is_bundled=pretrained is None)
    check_search(search, training)
    has_recipe = training.learning_rate is None
    settings, head_settings = steps.choose_settings(
        training,
        head,
        labelled,
        source,
        trains_layers=freeze is None and source.encoder.num_layers > 0,
    )
    setup = steps.FinetuningSetup(
        source,
        labelled,
        head_settings,
        dropout,
        seed,
        settings.both_strands,
        frozen=freeze == "encoder",
        lora=lora,
        words=kmers_for(
            words,
            labelled,
            source.tokenizer,
            both_strands=settings.both_strands,
            has_recipe=has_recipe,
        ),
    )
    folder = Path(checkpoints or next_to(output, "checkpoints"))
    setup, settings, folder, table = chosen_recipe(setup, settings, search, folder)
    task, result, examples = train(setup, settings, folder)
    merge(task.model)
    setup, scores = add_kmers(setup, task, settings)
    config, reliability = with_calibration(setup, task, settings, result)
    scores = result.best_metrics | scores | reliability
    metrics = validation_metrics(scores, result.best_step, seed, n=examples)
    trained = save_trained(
        output,
        task,
        source.tokenizer,
        settings,
        result,
        config=config,
        metrics=metrics | {"strand": "forward"},
        extra_files=table,
        seen_sequences=setup.seen_sequences,
    )
    if test_output is None or not trained.is_writer:
        return trained
    return score_trained(trained, data, optional_path(genome), test_output, seed)


def check_trained_part(freeze: str | None, lora: LoraConfig) -> None:
    """Raise InputError for two ways to train the encoder."""
    if freeze and lora.rank:
        raise InputError(
            "--freeze encoder with --lora.rank: LoRA trains the encoder; leave one out"
        )
