"""`dna-bigbird finetune`."""

from pathlib import Path

from dna_bigbird.models.config import HeadConfig
from dna_bigbird.paths import InputPath, OutputFolder, OutputPath
from dna_bigbird.tasks.config import TrainConfig


def finetune(
    genome: InputPath,
    data: InputPath,
    pretrained: InputPath,
    output: OutputPath,
    checkpoints: OutputFolder,
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    head: HeadConfig = HeadConfig(),  # noqa: B008 - jsonargparse shows the default
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: int = 0,
) -> None:
    """Fine-tune a pretrained model on a labelled set.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. With other settings or inputs it starts over, says so and moves the earlier
    states to a subfolder of `checkpoints`. The bundle written holds the weights of the step with the
    highest macro AUROC on validation.

    Args:
        genome: FASTA that the labelled set was made from.
        data: Labelled set of promoter-set or chromatin-set.
        pretrained: Bundle of `dna-bigbird pretrain`, or of `convert`: encoder and tokenizer.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        seed: Seed of the label head, the order of windows and dropout.
        from_scratch: Take only the architecture and tokenizer of `pretrained` and draw fresh
            weights, to see what pretraining is worth.
        dropout: Dropout of the encoder in this training; that of `pretrained` if not given. A few
            thousand examples are soon known by heart without any.
        head: How labels are read off the encoder.
        training: How it is trained.
        threads: CPU threads of one process; 0 leaves the choice to torch.
    """
    from dna_bigbird.tasks import signals

    signals.listen()  # before the imports, which take seconds

    from dataclasses import asdict, replace

    from dna_bigbird.bundles.bundle import check_output, load_bundle
    from dna_bigbird.bundles.card import is_semi_synthetic
    from dna_bigbird.datasets.same_genome import open_labelled_set
    from dna_bigbird.errors import InputError
    from dna_bigbird.genome import Genome
    from dna_bigbird.limits import use_threads
    from dna_bigbird.models.classifier import SequenceClassifier
    from dna_bigbird.models.config import EncoderConfig
    from dna_bigbird.pipeline.label_training import train_on_labels
    from dna_bigbird.pipeline.training_checks import module_sha256, set_training_backend
    from dna_bigbird.tasks.peers import is_first_on_node

    if dropout is not None and not 0 <= dropout < 1:
        raise InputError(f"--dropout {dropout}: expected at least 0 and below 1")
    check_output(output)
    use_threads(threads)
    bundle = load_bundle(pretrained)
    bundle.check_reads_dna()
    bundle.check_single("fine-tuning")
    labelled = open_labelled_set(data, Genome(genome), verify=is_first_on_node())
    encoder = EncoderConfig(**bundle.config["encoder"])
    if dropout is not None:
        encoder = replace(encoder, dropout=dropout)
    model = SequenceClassifier(encoder, len(labelled.label_names), head, seed=seed)
    if not from_scratch:
        model.encoder.load_state_dict(bundle.model.encoder.state_dict())
    set_training_backend(model.encoder, training.attention_backend)
    task, result, examples = train_on_labels(
        model,
        labelled,
        bundle.tokenizer,
        training,
        max_tokens=encoder.max_tokens,
        checkpoints=checkpoints,
        seed=seed,
        settings={
            "command": "finetune",
            "model": asdict(encoder),
            "head": asdict(head),
            "inputs": {"encoder": module_sha256(model.encoder)},
        },
    )
    if result.is_writer:
        described = {
            "encoder": asdict(encoder),
            "head": asdict(head),
            "semi_synthetic": is_semi_synthetic(labelled.assembly)
            or bool(bundle.config.get("semi_synthetic")),
            "initial_weights": "random" if from_scratch else "pretrained",
            "seed": seed,
        }
        save_finetuned(
            output, task, training, result, bundle.tokenizer, labelled, described, examples
        )


def save_finetuned(
    output: Path,
    task,
    training: TrainConfig,
    result,
    tokenizer,
    labelled,
    described: dict,
    examples: int,
) -> None:
    """Write the bundle of a finished run with its scores on validation."""
    from dna_bigbird.bundles.bundle import save_bundle
    from dna_bigbird.bundles.card import model_card
    from dna_bigbird.pipeline.training_checks import described_training, round_metrics

    names = ("task", "label_names", "label_groups", "window_bp", "bin_bp", "assembly", "negatives")
    config = {
        **{name: getattr(labelled, name) for name in names},
        **described,
        **described_training(training, result),
    }
    metrics = {
        **round_metrics(result.best_metrics),
        "n": examples,
        "step": result.best_step,
        "seed": described["seed"],
        "split": "validation",
        "strand": "forward",
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
