"""`dna-bigbird text train-classifier`."""

from dna_bigbird.choices import checked
from dna_bigbird.datasets.text.classification import ClassificationOptions, SetName
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.pipeline.text.text_training import RunOptions, train_text


@checked()
def train_classifier(
    train: InputPath,
    validation: InputPath,
    set: SetName | None = None,  # the option's name
    options: ClassificationOptions = ClassificationOptions(),  # noqa: B008 - jsonargparse shows the default
    head: HeadConfig = HeadConfig(),  # noqa: B008
    **run: RunOptions,
) -> TrainedModel:
    """Fine-tune a pretrained text model to tell the class of a document.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest
    micro-averaged F1 on validation. The paper's settings: config/text/classification/. The formats
    read: docs/text-classification.md.

    Args:
        train: Set to train on, as it is distributed: a folder, an archive or JSON lines.
        validation: Set to choose the step by; the same path where it holds all splits.
        set: Name of the set; the same as --options.set.
        options: What is read.
        head: How the class is read off the encoder.
    """
    from dataclasses import replace

    from dna_bigbird.tasks.text.classification import ClassificationTask

    return train_text(
        ClassificationTask(replace(options, set=set or options.set), head),
        train=train,
        validation=validation,
        **run,
    )
