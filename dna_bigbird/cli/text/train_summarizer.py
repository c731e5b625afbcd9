"""`dna-bigbird text train-summarizer`."""

from pathlib import Path

from dna_bigbird.datasets.text.summarization_options import SummarizationOptions
from dna_bigbird.models.text_config import SummarizationHead
from dna_bigbird.tasks.config import TrainConfig


def train_summarizer(
    train: Path,
    validation: Path,
    pretrained: Path,
    output: Path,
    checkpoints: Path,
    set: str | None = None,  # the option's name
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    options: SummarizationOptions = SummarizationOptions(),  # noqa: B008 - jsonargparse shows the default
    head: SummarizationHead = SummarizationHead(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: int = 0,
) -> None:
    """Fine-tune a sparse encoder with a decoder to write summaries.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends with
    the same weights. The bundle holds the weights of the step with the lowest `nll_per_token` on
    validation; `text evaluate` writes the summaries and scores them. The paper's settings are in
    config/text/summarization.

    Args:
        train: Files of the set as distributed: a file of JSON lines, a folder or a tar archive.
        validation: Files to choose the step by; the same path where it holds all splits.
        pretrained: Bundle of `text pretrain`, `text warm-start` or `convert`, or of an earlier run of
            this command; it brings the vocabulary and the encoder's settings.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        set: arxiv, pubmed, bigpatent, cnn-dailymail or xsum; the same as --options.set.
        seed: Seed of fresh weights, order and dropout.
        from_scratch: Start from random weights; the pretrained model gives settings and vocabulary.
        dropout: Dropout of encoder and decoder; as pretrained if not given.
        options: What is read, how it is cut, how summaries are searched for.
        head: The decoder; if nothing is given and `pretrained` is a summarizer, it is that one's.
        training: How it is trained.
        threads: CPU threads of one process; 0 leaves the choice to torch.
    """
    from dataclasses import replace

    from dna_bigbird.cli.text.training import train_text
    from dna_bigbird.errors import InputError, checked_settings
    from dna_bigbird.tasks.text.summarization import SummarizationKind

    if training.strategy == "fsdp":  # it puts a layer together only while that layer is called
        raise InputError(
            "--training.strategy fsdp: a decoder reads weights of the encoder outside its layers; "
            "expected ddp"
        )
    if set is not None:
        with checked_settings():
            options = replace(options, set=set)
    train_text(
        SummarizationKind(options, _head_of(pretrained, head)),
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


def _head_of(pretrained: Path, given: SummarizationHead) -> SummarizationHead:
    from dna_bigbird.inference.bundle_config import read_config

    path = pretrained / "config.json"
    if given != SummarizationHead() or not path.is_file():
        return given
    config = read_config(path)
    return SummarizationHead(**config["head"]) if config["task"] == "summarization" else given
