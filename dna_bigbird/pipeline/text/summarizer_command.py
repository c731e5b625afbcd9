"""`dna-bigbird text train-summarizer`."""

from pathlib import Path

from dna_bigbird.choices import checked
from dna_bigbird.datasets.text.summarization import SummarizationOptions
from dna_bigbird.models.text_config import SummarizationHead
from dna_bigbird.paths import InputPath
from dna_bigbird.pipeline.results import TrainedModel
from dna_bigbird.pipeline.text.text_training import RunOptions, train_text


@checked()
def train_summarizer(
    train: InputPath,
    validation: InputPath,
    pretrained: InputPath,
    set: str | None = None,  # the option's name
    options: SummarizationOptions = SummarizationOptions(),  # noqa: B008 - jsonargparse shows the default
    head: SummarizationHead = SummarizationHead(),  # noqa: B008
    **run: RunOptions,
) -> TrainedModel:
    """Fine-tune a sparse encoder with a decoder to write summaries.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends with
    the same weights. The bundle holds the weights of the step with the lowest `nll_per_token` on
    validation; `text evaluate` writes the summaries and scores them. The paper's settings are in
    config/text/summarization.

    Args:
        train: Files of the set as distributed: a file of JSON lines, train.source with train.target
            next to it (xsum), a folder or a tar archive.
        validation: Files to choose the step by; the same path where it holds all splits.
        pretrained: Bundle of `text pretrain`, `text warm-start` or `convert`, or of an earlier run of
            this command; it brings the vocabulary and the encoder's settings.
        set: arxiv, pubmed, bigpatent, cnn-dailymail or xsum; the same as --options.set.
        options: What is read, how it is cut, how summaries are searched for.
        head: The decoder; if nothing is given and `pretrained` is a summarizer, it is that one's.
    """
    from dataclasses import replace

    from dna_bigbird.errors import checked_settings
    from dna_bigbird.tasks.text.summarization import SummarizationTask

    if set is not None:
        with checked_settings():
            options = replace(options, set=set)
    return train_text(
        SummarizationTask(options, _head_of(pretrained, head)),
        train=train,
        validation=validation,
        pretrained=pretrained,
        **run,
    )


def _head_of(pretrained: Path, given: SummarizationHead) -> SummarizationHead:
    from dna_bigbird.bundles.config import read_config

    path = pretrained / "config.json"
    if given != SummarizationHead() or not path.is_file():
        return given
    config = read_config(path)
    return SummarizationHead(**config["head"]) if config["task"] == "summarization" else given
