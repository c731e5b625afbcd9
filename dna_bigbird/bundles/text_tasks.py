"""All text tasks: the modules of one folder that define a `TASK`."""

import functools
import importlib
import pkgutil
import re
from pathlib import Path

from dna_bigbird.bundles.text_task import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.published_table import PublishedTable, joined

FOLDER = "dna_bigbird.text.data"
DEFINES_TASK = re.compile(r"^TASK\b.*=", re.MULTILINE)


def tasks() -> dict[str, TaskDescription]:
    """Return all text tasks by name."""
    return {task.name: task for task in _by_module(FOLDER).values()}


def describe(name: str) -> TaskDescription:
    """Return the description of a task.

    Raises:
        InputError: If there is none of that name.
    """
    known = tasks()
    if name not in known:
        raise InputError(f"no text task {name!r}; expected one of {', '.join(known)}")
    return known[name]


def sets() -> dict[str, tuple[TaskDescription, SetDescription]]:
    """Return all sets by name, each with its task."""
    return {each.name: (task, each) for task in tasks().values() for each in task.sets}


def synthetic_text() -> dict[str, SyntheticText]:
    """Return all synthetic data by folder."""
    return {part.folder: part for task in tasks().values() for part in task.synthetic}


def published_tables() -> list[PublishedTable]:
    """Return the paper's tables of these tasks, by number."""
    return joined([part for task in tasks().values() for part in task.published])


def task_of_library_class(name: str) -> TaskDescription:
    """Return the task that has the head of a class of the Hugging Face library."""
    return next(task for task in tasks().values() if task.library_class == name)


def module_of(name: str) -> str:
    """Return the module of a task, which `text.tasks` has under the same name."""
    describe(name)
    modules = _by_module(FOLDER)
    return next(module for module, task in modules.items() if task.name == name)


@functools.cache
def _by_module(folder: str) -> dict[str, TaskDescription]:
    # Reading the source first leaves out the modules that no task needs.
    names = [
        module.name
        for module in pkgutil.iter_modules(importlib.import_module(folder).__path__)
        if DEFINES_TASK.search(
            Path(module.module_finder.path, f"{module.name}.py").read_text(encoding="utf-8")
        )
    ]
    return {name: importlib.import_module(f"{folder}.{name}").TASK for name in names}
