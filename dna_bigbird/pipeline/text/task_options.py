"""The options of one task for `text.train`: typed settings, and a signature with their types."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Literal

from dna_bigbird.choices import near
from dna_bigbird.datasets.text.description import TaskDescription
from dna_bigbird.datasets.text.registry import describe, tasks
from dna_bigbird.errors import InputError, checked_settings


def new_task(name: str, set_name: str | None, options: object, head: object):
    """Return a task, a tasks.text.task.TextTask, with its settings.

    Args:
        set_name: The set, if the task has several.
        options, head: As `task_settings`.

    Raises:
        InputError: If there is no such task, set or setting.
    """
    from dna_bigbird.tasks.text.lookup import task_class

    check_task(name)
    task = describe(name)
    options = task_settings(options, task.options, "options")
    return task_class(name)(
        with_set(options, set_name, name), task_settings(head, task.head_type(), "head")
    )


def task_settings(settings: object, settings_type: type, name: str) -> object:
    """Return settings as the dataclass of the task.

    Args:
        settings: An instance of it, values by name, or None for the defaults.
        name: The argument, for messages.

    Raises:
        InputError: If a name is unknown, or values are wrong or contradict each other.
    """
    if isinstance(settings, settings_type):
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(
            f"{name}: expected {settings_type.__name__} or its values by name, got "
            f"{type(settings).__name__}"
        )
    values = dict(settings or {})
    known = tuple(field.name for field in fields(settings_type))
    for key in values:
        if key not in known:
            raise InputError(
                f"--{name}.{key}: no such option{near(key, known)}; known are {', '.join(known)}"
            )
    with checked_settings():
        return settings_type(**values)


def with_set(options: object, set_name: str | None, task: str) -> object:
    """Return the options of a task with the set that was named on its own.

    Raises:
        InputError: If the task has only one set, or no such set.
    """
    if set_name is None:
        return options
    if not hasattr(options, "set"):
        raise InputError(f"--set {set_name}: the task {task} has only one set; leave it out")
    with checked_settings():
        return replace(options, set=set_name)


def check_task(name: str | None) -> None:
    """Raise InputError if there is no text task of a name."""
    known = tuple(tasks())
    if name is None:
        raise InputError(f"--task is missing: expected one of {', '.join(known)}")
    if name not in known:
        raise InputError(f"--task {name}: expected one of {', '.join(known)}{near(name, known)}")


def typed_train(name: str | None) -> Callable:
    """Return `text.train` with the signature and help of one task, for the command line.

    `options` and `head` have the task's dataclasses as types, `set` the names of its sets; `set` is
    left out where the task has only one.

    Args:
        name: The task. None: without the options of a task; the help lists the tasks.
    """
    from dna_bigbird.pipeline.text.text_training import train

    task = None if name is None else describe(name)
    signature = inspect.signature(train)
    parameters = dict(signature.parameters)
    required = inspect.Parameter.empty
    if task is None:
        changes = {"task": (Literal[tuple(tasks())], required)}
        changes |= dict.fromkeys(("options", "head", "set"))
    else:
        head, own = task.head_type(), {each.name: each.type for each in fields(task.options)}
        changes = {
            "task": (Literal[task.name], required),
            "options": (task.options, task.options()),
            "head": (head, head()),
            "set": (own["set"] | None, None) if "set" in own else None,
        }
    for name, change in changes.items():
        if change is None:
            del parameters[name]
        else:
            hint, default = change
            parameters[name] = parameters[name].replace(annotation=hint, default=default)

    def typed(**arguments: object) -> object:
        return train(**arguments)

    typed.__name__ = typed.__qualname__ = train.__name__
    typed.__doc__ = _help(train, task)
    typed.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    typed.__signature__ = signature.replace(parameters=list(parameters.values()))
    return typed


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
        text = _replaced(text, "train", f"Data to train on: {task.train_data}.")
        text = re.sub(r" In Python: .*(?:\n +.*)*?(?=\n +\w+:)", "", text)
        more = f"Task: {task.about}. The step is chosen by: {task.monitor}.\n\n"
        more += f"The paper's settings: {task.recipe}"
    return text.replace("\nArgs:\n", f"\n{more}\n\nArgs:\n", 1)


def _replaced(docstring: str, argument: str, text: str) -> str:
    """Return a docstring with another text for an argument."""
    return re.sub(
        rf"^( +){argument}: .*(?:\n\1 +.*)*", rf"\1{argument}: {text}", docstring, flags=re.M
    )
