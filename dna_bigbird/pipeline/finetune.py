"""`dna-bigbird finetune`."""

from dna_bigbird.choices import checked
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.progress import shows_progress
from dna_bigbird.shared_options import (
    Checkpoints,
    ProcessThreads,
    Progress,
    SetGenome,
    TrainedBundle,
)
from dna_bigbird.tasks.config import TrainConfig


@checked()
@shows_progress
def finetune(
    genome: SetGenome,
    data: InputPath,
    pretrained: InputPath,
    output: TrainedBundle,
    checkpoints: Checkpoints,
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    head: HeadConfig = HeadConfig(),  # noqa: B008 - jsonargparse shows the default
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: ProcessThreads = 0,
    progress: Progress = True,
) -> TrainedModel:
    """Fine-tune a pretrained model on a labelled set.

    Killed and started again with the same command, it continues from the newest checkpoint and ends
    with the same weights. With other settings or inputs it starts over with a note and moves the earlier
    states to a subfolder of `checkpoints`. The bundle has the weights of the step with the
    highest macro AUROC on validation.

    Args:
        data: Labelled set: made by promoter-set or chromatin-set.
        pretrained: Pretrained bundle: of `dna-bigbird pretrain`, or of `convert`: encoder and
            tokenizer.
        seed: Seed of the random numbers: of the label head, the order of windows and dropout.
        from_scratch: Take only the architecture and tokenizer of `pretrained`: weights are drawn
            fresh, to see what pretraining is worth.
        dropout: Dropout: of the encoder in this training; that of `pretrained` if not given. A few
            thousand examples are soon memorised without any.
        head: How labels are read off the encoder.
        training: How it is trained.
    """
    from dna_bigbird.tasks import signals

    signals.listen()  # before the imports, which take seconds

    from dna_bigbird.bundles.save import check_output
    from dna_bigbird.datasets.same_genome import open_labelled_set
    from dna_bigbird.errors import InputError
    from dna_bigbird.genome import Genome
    from dna_bigbird.limits import use_threads
    from dna_bigbird.pipeline import label_model as steps
    from dna_bigbird.pipeline.label_training import train_on_labels
    from dna_bigbird.pipeline.trained_bundle import save_trained, validation_metrics
    from dna_bigbird.pipeline.training_checks import set_training_backend
    from dna_bigbird.tasks.processes import is_first_on_node

    if dropout is not None and not 0 <= dropout < 1:
        raise InputError(f"--dropout {dropout}: expected at least 0 and below 1")
    check_output(output)
    use_threads(threads)
    source = steps.load_encoder(pretrained)
    labelled = open_labelled_set(data, Genome(genome), verify=is_first_on_node())
    setup = steps.FinetuningSetup(source, labelled, head, dropout, from_scratch, seed)
    model = setup.build_model()
    set_training_backend(model.encoder, training.attention_backend)
    task, result, examples = train_on_labels(
        model,
        labelled,
        source.tokenizer,
        training,
        max_tokens=model.encoder.config.max_tokens,
        checkpoints=checkpoints,
        seed=seed,
        settings=setup.run_settings(model),
    )
    metrics = validation_metrics(result.best_metrics, result.best_step, seed, n=examples)
    return save_trained(
        output,
        task,
        source.tokenizer,
        training,
        result,
        config=setup.config(),
        metrics=metrics | {"strand": "forward"},
    )
