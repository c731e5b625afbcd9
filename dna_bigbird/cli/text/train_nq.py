"""`dna-bigbird text train-nq`."""

from pathlib import Path
from typing import Literal

from dna_bigbird.datasets.text.natural_questions_options import NaturalQuestionsOptions
from dna_bigbird.models.text_config import NaturalQuestionsHead
from dna_bigbird.tasks.config import TrainConfig


def train_nq(
    train: Path,
    validation: Path,
    pretrained: Path,
    output: Path,
    checkpoints: Path,
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    global_blocks: Literal["first_last", "first_two", "none"] | None = None,
    options: NaturalQuestionsOptions = NaturalQuestionsOptions(),  # noqa: B008 - jsonargparse shows the default
    head: NaturalQuestionsHead = NaturalQuestionsHead(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: int = 0,
) -> None:
    """Fine-tune a pretrained text model on Natural Questions: long and short answers, yes and no.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest
    mean of both F1 (long, short) on validation. The paper's settings: config/text/natural-questions.yaml.

    Args:
        train: Pages to train on, native or simplified: JSON lines, plain or gzip, or a folder with
            nq-train-*.jsonl.gz.
        validation: Pages to choose the step by (nq-dev-*); of training pages, which one person has
            annotated, with --options.min_annotators 1.
        pretrained: Bundle of `text pretrain`, of `text warm-start` or of `convert`: encoder and
            vocabulary.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        seed: Seed of the head, the rows of the marks, the order of windows and dropout.
        from_scratch: Take only the architecture and vocabulary of `pretrained`.
        dropout: Dropout of the encoder in this training; that of `pretrained` if not given.
        global_blocks: Blocks that every block reads; those of `pretrained` if not given. The paper's
            question answering has the first 128 tokens: first_two.
        options: How the set is read, learnt, decoded and scored.
        head: How spans are read off the encoder.
        training: How it is trained.
        threads: CPU threads of one process; 0 leaves the choice to torch.
    """
    from dna_bigbird.cli.text.training import train_text
    from dna_bigbird.tasks.text.natural_questions import NaturalQuestionsKind

    train_text(
        NaturalQuestionsKind(options, head),
        train=train,
        validation=validation,
        pretrained=pretrained,
        output=output,
        checkpoints=checkpoints,
        seed=seed,
        from_scratch=from_scratch,
        dropout=dropout,
        global_blocks=global_blocks,
        training=training,
        threads=threads,
    )
