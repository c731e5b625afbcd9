"""`dna-bigbird text train`."""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from dna_bigbird.bundles.text_tasks import TaskDescription, describe, tasks
from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.core.settings import ShareBelowOne
from dna_bigbird.core.shared_options import (
    Checkpoints,
    MaxUnpackedGib,
    ProcessThreads,
    TrainedBundle,
)
from dna_bigbird.models.attention_config import EtcChanges, LongformerChanges, PerformerChanges
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective_config import CpcConfig


@checked()
def train(
    task: str,
    *,
    train: InputPath,
    validation: InputPath,
    pretrained: InputPath,
    output: TrainedBundle,
    checkpoints: Checkpoints,
    set: str | None = None,  # the option's name
    options: object = None,
    head: object = None,
    seed: int = 0,
    from_scratch: bool = False,
    dropout: ShareBelowOne | None = None,
    attention_dropout: ShareBelowOne | None = None,
    global_blocks: Literal["first_last", "first_two", "none"] | None = None,
    attention: Literal["bigbird", "full", "longformer", "performer"] | None = None,
    etc: EtcChanges = EtcChanges(),  # noqa: B008 - the help shows the default
    longformer: LongformerChanges = LongformerChanges(),  # noqa: B008 - the help shows the default
    performer: PerformerChanges = PerformerChanges(),  # noqa: B008 - the help shows the default
    cpc: CpcConfig = CpcConfig(weight=0.0),  # noqa: B008 - the help shows the default
    training: TrainConfig = TrainConfig(),  # noqa: B008 - the help shows the default
    max_unpacked_gib: MaxUnpackedGib = 0,
    threads: ProcessThreads = 0,
) -> TrainedModel:
    """Fine-tune a pretrained text model on a task.

    Killed and started again with the same command, it goes on from the newest checkpoint and ends
    with the same weights. The bundle holds the weights of the step with the best score on validation.

    Args:
        task: The text task.
        train: Training data: in the native format of the set.
        validation: Validation data: they choose the step; in the same format; the same path if it
            contains all splits.
        pretrained: Pretrained bundle: of `text pretrain`, of `text warm-start` or of `convert`:
            encoder and vocabulary. A summarizer can also start from a summarizer.
        set: Name of the set: if the task has several; the same as --options.set.
        options: How the set is read, trained on, decoded and scored. In Python: the task's
            dataclass, or values by name.
        head: How answers are read from the encoder. In Python: as `options`.
        seed: Seed of the random numbers: of all fresh weights, the order of examples and dropout.
        from_scratch: Take only the architecture and tokenizer of `pretrained`.
        dropout: Dropout: of the body in this training; that of `pretrained` if not given.
        attention_dropout: Dropout of the attention weights: of the encoder; that of `pretrained` if not given.
            The published code has 0.1 where attention is full, and none in block-sparse attention.
        global_blocks: Blocks that read every block and are read by every block: those of
            `pretrained` if not given. The paper's question answering has the first 128 tokens:
            first_two.
        attention: Block-sparse attention, or full: or longformer or performer; that of `pretrained` if not
            given. Weights may move between these four.
        etc: Settings of a model with attention etc that differ from those of `pretrained`. With it
            question answering has global tokens for question, paragraphs, sentences and candidates.
        longformer: Settings of attention longformer that differ from those of `pretrained`. With it the
            question, candidates and marks of titles and sentences are global, in other tasks [CLS].
        performer: Settings of attention performer that differ from those of `pretrained`.
        cpc: Hidden sentences, as in pretraining: in question answering with attention etc, as a regulariser (the
            paper, appendix E.2). A batch is then read twice.
        training: How it is trained.

    Examples:
        dna-bigbird text train --task text-classification --set imdb --train aclImdb_v1.tar.gz \\
            --validation aclImdb_v1.tar.gz --pretrained models/base --output models/imdb --checkpoints checkpoints/imdb

    Raises:
        InputError: If there is no such task or option, or inputs are wrong or do not fit the
            pretrained model.
    """
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.text import text_train_run as steps
    from dna_bigbird.text.set_options import new_task

    text_task = new_task(task, set, options, head)
    output = Path(output)
    steps.check_run(output, training, threads)
    bundle = load_bundle(pretrained)
    bundle.check_reads_text()
    changes = EncoderChanges(
        attention=attention,
        attention_dropout=attention_dropout,
        global_blocks=global_blocks,
        etc=etc,
        longformer=longformer,
        performer=performer,
    )
    encoder = steps.encoder_settings(text_task, bundle, dropout, changes, from_scratch)
    text_task = text_task.changed(head=text_task.head_from(bundle.config), encoder=encoder)
    steps.check_contrast(text_task, cpc)
    paths = {"train": Path(train), "validation": Path(validation)}
    text_task, sets = steps.stored_sets(
        text_task,
        bundle,
        paths,
        Path(checkpoints),
        training.validation_examples,
        seed,
        max_unpacked_gib,
        threads,
    )
    model = steps.start_model(text_task, bundle, encoder, seed, from_scratch)
    if cpc.weight:
        model.cpc = steps.contrast_head(bundle, encoder, seed, from_scratch)
    start = bundle.config.initial_weights or "not recorded"
    return steps.fit_and_save(
        text_task,
        model,
        sets,
        training,
        tokenizer=bundle.tokenizer,
        output=output,
        checkpoints=Path(checkpoints),
        seed=seed,
        initial_weights="random" if from_scratch else f"pretrained (start: {start})",
        cpc=cpc,
    )


def typed_train(name: str | None) -> Callable:
    """Return `text.train` with the signature and help of one task, for the command line."""
    task = None if name is None else describe(name)
    signature = inspect.signature(train)
    parameters = dict(signature.parameters)
    for parameter, change in _changes(task).items():
        if change is None:
            del parameters[parameter]
        else:
            hint, default = change
            parameters[parameter] = parameters[parameter].replace(annotation=hint, default=default)

    def call(**arguments: Any) -> object:
        return train(**arguments)

    typed: Any = call
    typed.__name__ = typed.__qualname__ = train.__name__
    typed.__doc__ = _help(train, task)
    typed.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    typed.chosen_by = "" if name is None else f" --task {name}"
    typed.__signature__ = signature.replace(parameters=list(parameters.values()))
    return typed


def _changes(task: TaskDescription | None) -> dict[str, tuple[Any, Any] | None]:
    """Return type and default of the parameters that depend on the task; None leaves one out."""
    if task is None:
        names: Any = Literal[tuple(tasks())]
        return {
            "task": (names, inspect.Parameter.empty),
            "options": None,
            "head": None,
            "set": None,
        }
    head = task.head_type()
    types: dict[str, Any] = {field.name: field.type for field in fields(task.options)}
    return {
        "task": (Literal[task.name], inspect.Parameter.empty),
        "options": (task.options, task.options()),
        "head": (head, head()),
        "set": (types["set"] | None, None) if "set" in types else None,
    }


def _help(train: Callable, task: TaskDescription | None) -> str:
    text = inspect.cleandoc(train.__doc__ or "")
    if task is None:
        width = max(map(len, tasks()))
        listed = "\n".join(f"  {name:<{width}}  {each.about}" for name, each in tasks().items())
        more = (
            "The options of a task are listed by: dna-bigbird text train --task TASK --help_all\n\n"
            f"The tasks:\n\n{listed}"
        )
    else:
        about = rf"\1train: Training data: {task.train_data}."
        text = re.sub(r"^( +)train: .*(?:\n\1 +.*)*", about, text, flags=re.M)
        text = re.sub(r" In Python: .*(?:\n +.*)*?(?=\n +\w+:)", "", text)
        text = re.sub(r"(?<=\nExamples:\n)(?: +.*\n)+", lambda _: _example(task), text)
        more = f"Task: {task.about}. The step is chosen by: {task.monitor}.\n\n"
        more += f"The paper's settings: {task.recipe}"
    return text.replace("\nArgs:\n", f"\n{more}\n\nArgs:\n", 1)


def _example(task: TaskDescription) -> str:
    named = getattr(task.options(), "set", None)
    chosen = f" --set {named}" if named else ""
    return (
        f"    dna-bigbird text train --task {task.name}{chosen} --train DATA --validation DATA \\\n"
        f"        --pretrained models/base --output models/{task.name} --checkpoints states\n"
    )
