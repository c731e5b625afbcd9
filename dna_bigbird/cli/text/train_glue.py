"""`dna-bigbird text train-glue`."""

from pathlib import Path

from dna_bigbird.datasets.text.classification_options import GlueOptions, GlueTask
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.tasks.config import TrainConfig


def train_glue(
    train: Path,
    validation: Path,
    pretrained: Path,
    output: Path,
    checkpoints: Path,
    set: GlueTask | None = None,  # the option's name
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    options: GlueOptions = GlueOptions(),  # noqa: B008 - jsonargparse shows the default
    head: HeadConfig = HeadConfig(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: int = 0,
) -> None:
    """Fine-tune a pretrained text model on a task of GLUE; STS-B is a regression.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the best official
    metric on validation. The recipe's settings: config/text/glue/.

    Args:
        train: The task's folder with its official files, or the folder or tar archive of all tasks.
        validation: The same path: the development files are taken.
        pretrained: Bundle of `text pretrain`, `text warm-start` or `convert`: encoder and vocabulary.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        set: Name of the task; the same as --options.set.
        seed: Seed of the head, the order of examples and dropout.
        from_scratch: Take only the architecture and vocabulary of `pretrained`.
        dropout: Dropout of the encoder in this training; that of `pretrained` if not given.
        options: What is read.
        head: How class or score are read off the encoder.
        training: How it is trained.
        threads: CPU threads of one process; 0 leaves the choice to torch.
    """
    from dataclasses import replace

    from dna_bigbird.cli.text.training import train_text
    from dna_bigbird.tasks.text.glue import GlueKind

    train_text(
        GlueKind(replace(options, set=set or options.set), head),
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
