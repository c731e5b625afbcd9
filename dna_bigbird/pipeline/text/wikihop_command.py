"""`dna-bigbird text train-wikihop`."""

from dna_bigbird.choices import checked
from dna_bigbird.datasets.text.wikihop import WikiHopOptions
from dna_bigbird.models.text_config import CandidateHead
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.pipeline.text.text_training import RunOptions, train_text


@checked()
def train_wikihop(
    train: InputPath,
    validation: InputPath,
    options: WikiHopOptions = WikiHopOptions(),  # noqa: B008 - jsonargparse shows the default
    head: CandidateHead = CandidateHead(),  # noqa: B008
    **run: RunOptions,
) -> TrainedModel:
    """Fine-tune a pretrained text model on WikiHop: which candidate answers the query.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest
    accuracy on validation. The paper's settings: config/text/wikihop.yaml.

    Args:
        train: Official file to train on (train.json), plain or gzip; or the official archive or
            its folder, of which train.json is taken.
        validation: The same to choose the step by (dev.json).
        options: How the set is read, learnt and decoded.
        head: How scores are read off the encoder.
    """
    from dna_bigbird.tasks.text.wikihop import WikiHopTask

    return train_text(
        WikiHopTask(options, head),
        train=train,
        validation=validation,
        **run,
    )
