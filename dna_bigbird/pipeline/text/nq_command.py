"""`dna-bigbird text train-nq`."""

from dna_bigbird.choices import checked
from dna_bigbird.datasets.text.natural_questions import NaturalQuestionsOptions
from dna_bigbird.models.text_config import LongAnswerHead
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.pipeline.text.text_training import RunOptions, train_text


@checked()
def train_nq(
    train: InputPath,
    validation: InputPath,
    options: NaturalQuestionsOptions = NaturalQuestionsOptions(),  # noqa: B008 - jsonargparse shows the default
    head: LongAnswerHead = LongAnswerHead(),  # noqa: B008
    **run: RunOptions,
) -> TrainedModel:
    """Fine-tune a pretrained text model on Natural Questions: long and short answers, yes and no.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest
    mean of both F1 (long, short) on validation. The paper's settings: config/text/natural-questions.yaml.

    Args:
        train: Pages to train on, native or simplified: JSON lines, plain or gzip, or a folder with
            nq-train-*.jsonl.gz.
        validation: Pages to choose the step by (nq-dev-*); of training pages, which one person has
            annotated, with --options.min_annotators 1.
        options: How the set is read, learnt, decoded and scored.
        head: How spans are read off the encoder.
    """
    from dna_bigbird.tasks.text.natural_questions import NaturalQuestionsTask

    return train_text(
        NaturalQuestionsTask(options, head),
        train=train,
        validation=validation,
        **run,
    )
