"""`dna-bigbird text train-triviaqa`."""

from pathlib import Path
from typing import Literal

from dna_bigbird.datasets.text.triviaqa_options import TriviaQaOptions
from dna_bigbird.models.text_config import TriviaQaHead
from dna_bigbird.tasks.config import TrainConfig


def train_triviaqa(
    train: Path,
    validation: Path,
    pretrained: Path,
    output: Path,
    checkpoints: Path,
    seed: int = 0,
    from_scratch: bool = False,
    dropout: float | None = None,
    global_blocks: Literal["first_last", "first_two", "none"] | None = None,
    options: TriviaQaOptions = TriviaQaOptions(),  # noqa: B008 - jsonargparse shows the default
    head: TriviaQaHead = TriviaQaHead(),  # noqa: B008
    training: TrainConfig = TrainConfig(),  # noqa: B008
    threads: int = 0,
) -> None:
    """Fine-tune a pretrained text model on TriviaQA: answers in documents, learnt from every match.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle written holds the weights of the step with the highest
    F1 on validation. The paper's settings: config/text/triviaqa.yaml.

    Args:
        train: Official file of questions (qa/wikipedia-train.json); or the official folder or archive,
            of which --options.domain says the file.
        validation: The same to choose the step by (qa/wikipedia-dev.json).
        pretrained: Bundle of `text pretrain`, of `text warm-start` or of `convert`: encoder and
            vocabulary.
        output: Bundle to write (a folder), with history.tsv in it.
        checkpoints: Folder for the state of the run; not part of the result.
        seed: Seed of the head, the rows of the marks, the order of questions and dropout.
        from_scratch: Take only the architecture and vocabulary of `pretrained`.
        dropout: Dropout of the encoder in this training; that of `pretrained` if not given.
        global_blocks: Blocks that every block reads; those of `pretrained` if not given. The paper's
            question answering has the first 128 tokens: first_two.
        options: How the set is read, learnt and decoded.
        head: How spans are read off the encoder.
        training: How it is trained.
        threads: CPU threads of one process; 0 leaves the choice to torch.
    """
    from dna_bigbird.cli.text.training import train_text
    from dna_bigbird.tasks.text.triviaqa import TriviaQaKind

    train_text(
        TriviaQaKind(options, head),
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
