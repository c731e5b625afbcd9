"""`dna-bigbird text train-hotpotqa`."""

from dna_bigbird.choices import checked
from dna_bigbird.datasets.text.hotpotqa import HotpotQaOptions
from dna_bigbird.models.text_config import FactsHead
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.pipeline.text.text_training import RunOptions, train_text


@checked()
def train_hotpotqa(
    train: InputPath,
    validation: InputPath,
    options: HotpotQaOptions = HotpotQaOptions(),  # noqa: B008 - jsonargparse shows the default
    head: FactsHead = FactsHead(),  # noqa: B008
    **run: RunOptions,
) -> TrainedModel:
    """Fine-tune a pretrained text model on HotpotQA (distractor): answer and supporting facts.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest joint
    F1 on validation. The paper's settings: config/text/hotpotqa.yaml.

    Args:
        train: Official file to train on (hotpot_train_v1.1.json), plain or gzip.
        validation: Official file to choose the step by (hotpot_dev_distractor_v1.json).
        options: How the set is read, learnt and decoded.
        head: How answers are read off the encoder.
    """
    from dna_bigbird.tasks.text.hotpotqa import HotpotQaTask

    return train_text(
        HotpotQaTask(options, head),
        train=train,
        validation=validation,
        **run,
    )
