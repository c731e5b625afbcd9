"""`dna-bigbird text train-triviaqa`."""

from dna_bigbird.choices import checked
from dna_bigbird.datasets.text.triviaqa import TriviaQaOptions
from dna_bigbird.models.text_config import SpanHead
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.pipeline.text.text_training import RunOptions, train_text


@checked()
def train_triviaqa(
    train: InputPath,
    validation: InputPath,
    options: TriviaQaOptions = TriviaQaOptions(),  # noqa: B008 - jsonargparse shows the default
    head: SpanHead = SpanHead(),  # noqa: B008
    **run: RunOptions,
) -> TrainedModel:
    """Fine-tune a pretrained text model on TriviaQA: answers in documents, learnt from every match.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest
    F1 on validation. The paper's settings: config/text/triviaqa.yaml.

    Args:
        train: Official file of questions (qa/wikipedia-train.json); or the official folder or archive,
            of which --options.domain says the file.
        validation: The same to choose the step by (qa/wikipedia-dev.json).
        options: How the set is read, learnt and decoded.
        head: How spans are read off the encoder.
    """
    from dna_bigbird.tasks.text.triviaqa import TriviaQaTask

    return train_text(
        TriviaQaTask(options, head),
        train=train,
        validation=validation,
        **run,
    )
