"""The signature of `text.train` for one task, which the command line reads its options from."""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

from dna_bigbird.bundles.text_tasks import TaskDescription, describe, tasks
from dna_bigbird.text import text_train

REQUIRED = inspect.Parameter.empty


def typed_train(name: str | None) -> Callable:
    """Return `text.train` with the signature and help of one task, for the command line.

    `options` and `head` have the task's dataclasses as types, `set` the names of its sets; `set` is
    left out where the task has only one.

    Args:
        name: The task. None: without the options of a task; the help lists the tasks.
    """
    train = text_train.train
    task = None if name is None else describe(name)
    signature = inspect.signature(train)
    parameters = dict(signature.parameters)
    for parameter, change in _changes(task).items():
        if change is None:
            del parameters[parameter]
        else:
            hint, default = change
            parameters[parameter] = parameters[parameter].replace(annotation=hint, default=default)

    def typed(**arguments: object) -> object:
        return train(**arguments)

    typed.__name__ = typed.__qualname__ = train.__name__
    typed.__doc__ = _help(train, task)
    typed.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    typed.chosen_by = "" if name is None else f" --task {name}"
    typed.__signature__ = signature.replace(parameters=list(parameters.values()))
    return typed


def _changes(task: TaskDescription | None) -> dict[str, tuple[Any, Any] | None]:
    """Return type and default of the parameters that depend on the task; None leaves one out."""
    if task is None:
        names = Literal[tuple(tasks())]
        return {"task": (names, REQUIRED), "options": None, "head": None, "set": None}
    head = task.head_type()
    types = {field.name: field.type for field in fields(task.options)}
    return {
        "task": (Literal[task.name], REQUIRED),
        "options": (task.options, task.options()),
        "head": (head, head()),
        "set": (types["set"] | None, None) if "set" in types else None,
    }


def _help(train: Callable, task: TaskDescription | None) -> str:
    """Return the docstring of `train`, with what a task adds to it."""
    text = inspect.cleandoc(train.__doc__)
    if task is None:
        width = max(map(len, tasks()))
        listed = "\n".join(f"  {name:<{width}}  {each.about}" for name, each in tasks().items())
        more = (
            "The options of a task are listed by: dna-bigbird text train --task TASK --help\n\n"
            f"The tasks:\n\n{listed}"
        )
    else:
        text = _replaced(text, "train", f"Training data: {task.train_data}.")
        text = re.sub(r" In Python: .*(?:\n +.*)*?(?=\n +\w+:)", "", text)
        text = re.sub(r"(?<=\nExamples:\n)(?: +.*\n)+", lambda _: _example(task), text)
        more = f"Task: {task.about}. The step is chosen by: {task.monitor}.\n\n"
        more += f"The paper's settings: {task.recipe}"
    return text.replace("\nArgs:\n", f"\n{more}\n\nArgs:\n", 1)


def _example(task: TaskDescription) -> str:
    """Return the command line of a training, as the lines of a docstring."""
    named = getattr(task.options(), "set", None)
    chosen = f" --set {named}" if named else ""
    return (
        f"    dna-bigbird text train --task {task.name}{chosen} --train DATA --validation DATA \\\n"
        f"        --pretrained models/base --output models/{task.name} --checkpoints states\n"
    )


def _replaced(docstring: str, argument: str, text: str) -> str:
    """Return a docstring with another text for an argument."""
    return re.sub(
        rf"^( +){argument}: .*(?:\n\1 +.*)*", rf"\1{argument}: {text}", docstring, flags=re.M
    )
