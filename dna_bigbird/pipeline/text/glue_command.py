"""`dna-bigbird text train-glue`."""

from dna_bigbird.choices import checked
from dna_bigbird.datasets.text.glue import GlueOptions, GlueSet
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.pipeline.text.text_training import RunOptions, train_text


@checked()
def train_glue(
    train: InputPath,
    validation: InputPath,
    set: GlueSet | None = None,  # the option's name
    options: GlueOptions = GlueOptions(),  # noqa: B008 - jsonargparse shows the default
    head: HeadConfig = HeadConfig(),  # noqa: B008
    **run: RunOptions,
) -> TrainedModel:
    """Fine-tune a pretrained text model on a task of GLUE; STS-B is a regression.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the best official
    metric on validation. The recipe's settings: config/text/glue/.

    Args:
        train: The task's folder with its official files, or the folder or tar archive of all tasks.
        validation: The same path: the development files are taken.
        set: Name of the task; the same as --options.set.
        options: What is read.
        head: How class or score are read off the encoder.
    """
    from dataclasses import replace

    from dna_bigbird.tasks.text.glue import GlueTask

    return train_text(
        GlueTask(replace(options, set=set or options.set), head),
        train=train,
        validation=validation,
        **run,
    )
