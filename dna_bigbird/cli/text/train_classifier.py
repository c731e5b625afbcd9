"""`dna-bigbird text train-classifier`."""

from pathlib import Path

from dna_bigbird.datasets.text.classification_options import ClassificationOptions, SetName
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.tasks.config import TrainConfig


def train_classifier(
    train: Path,
    validation: Path,
    pretrained: Path,
    output: Path,
    checkpoints: Path,
    set: SetName | None = None,  # the option's name
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    options: ClassificationOptions = ClassificationOptions(),  # noqa: B008 - jsonargparse shows the default
    head: HeadConfig = HeadConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: int = 0,
) -> None:
    """Fine-tune a pretrained text model to tell the class of a document.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest
    micro-averaged F1 on validation. The paper's settings: config/text/classification/. The formats
    read: docs/text-classification.md.

    Args:
        train: Set to train on, as it is distributed: a folder, an archive or JSON lines.
        validation: Set to choose the step by; the same path where it holds all splits.
        pretrained: Bundle of `text pretrain`, `text warm-start` or `convert`: encoder and vocabulary.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        set: Name of the set; the same as --options.set.
        seed: Seed of the head, the order of documents and dropout; not of the splits.
        from_scratch: Take only the architecture and vocabulary of `pretrained`.
        dropout: Dropout of the encoder in this training; that of `pretrained` if not given.
        options: What is read.
        head: How the class is read off the encoder.
        training: How it is trained.
        threads: CPU threads of one process; 0 leaves the choice to torch.
    """
    from dataclasses import replace

    from dna_bigbird.cli.text.training import train_text
    from dna_bigbird.tasks.text.classification import ClassificationKind

    train_text(
        ClassificationKind(replace(options, set=set or options.set), head),
        train=train,
        validation=validation,
        pretrained=pretrained,
        output=output,
        checkpoints=checkpoints,
        seed=seed,
        from_scratch=from_scratch,
        dropout=dropout,
        training=training,
        threads=threads,
    )
