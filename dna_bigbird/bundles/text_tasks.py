"""All text tasks: the modules of one folder that define a `TASK`."""

import functools
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.lazy_names import load
from dna_bigbird.metrics.published_table import PublishedTable, joined

# What a text task consists of; read without torch. Each data file defines one, named `TASK`.
#
# `registry` reads them; command line, workflow, report and demo know a task only through this.

WriteSynthetic = Callable[[int, int], dict[str, bytes]]
"""(seed, training examples) to file contents by their path below the folder of all synthetic text."""


@dataclass(frozen=True)
class SetDescription:
    """One data set of a task."""

    name: str
    """As in `--options.set`, in the workflow's config and as a folder of results."""
    synthetic_files: tuple[str, ...] = ()
    """Training, validation and scored data below the folder of synthetic text; a missing later path is
    the one before it. Empty: a set that only a user has."""
    scored_split: str = "validation"
    """The split that the paper's tables score: 'test', or 'validation' where test labels are secret."""


@dataclass(frozen=True)
class SyntheticText:
    """Files with a planted rule, in the native format of one or more sets."""

    folder: str
    """Folder of the files below that of all synthetic text."""
    write: str
    """Its `WriteSynthetic`, as 'module:name', imported only when files are written."""
    rule: str
    """The planted rule, for the README.md written next to the files."""


@dataclass(frozen=True)
class TaskDescription:
    """A text task, apart from its loss, decoding and metric (`text/tasks/`, module of the same name)."""

    name: str
    """As in a bundle's config and in `text train --task`."""
    about: str
    """One line for help texts."""
    options: type
    """Settings of reading, decoding and scoring: a frozen dataclass with fields of type int, float, bool
    or str; has a field `set` if the task has several sets."""
    head: str
    """Settings of the model's head, of the same form, as 'module:name'."""
    model: str
    """Model class, as 'module:name'; built with config, head, num_labels and seed."""
    sets: tuple[SetDescription, ...]
    train_data: str
    """What `--train` and `--validation` expect, for help texts."""
    recipe: str
    """File or folder with the paper's settings."""
    monitor: str = ""
    """The validation metric that chooses the step, in words."""
    old_command: str = ""
    """Name of the training command of this task in earlier versions: 'train-…'."""
    library_class: str = ""
    """Class of the Hugging Face library that has the same head."""
    needs_labels: bool = False
    """A bundle of the task must have class names."""
    synthetic: tuple[SyntheticText, ...] = ()
    published: tuple[PublishedTable, ...] = ()
    """Tables of the paper, or this task's columns of one."""

    def head_type(self) -> type:
        """Return the settings dataclass of the model's head."""
        return load(self.head)

    def build_model(self, encoder: Any, head: Any, num_labels: int = 0, seed: int = 0) -> Any:
        """Return the model with fresh weights; `num_labels` is 0 for tasks without classes."""
        return load(self.model)(config=encoder, head=head, num_labels=num_labels, seed=seed)


FOLDER = "dna_bigbird.text.data"
DEFINES_TASK = re.compile(r"^TASK\b.*=", re.MULTILINE)


def tasks() -> dict[str, TaskDescription]:
    """Return all text tasks by name."""
    return {task.name: task for task in _by_module(_folders()).values()}


def describe(name: str) -> TaskDescription:
    """Return the description of a task, or raise InputError."""
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
    modules = _by_module(_folders())
    return next(module for module, task in modules.items() if task.name == name)


def _folders() -> tuple[str, ...]:
    package = sys.modules.get(FOLDER) or importlib.import_module(FOLDER)
    return tuple(package.__path__)


@functools.cache
def _by_module(folders: tuple[str, ...]) -> dict[str, TaskDescription]:
    # Reading the source first leaves out the modules that no task needs.
    names = [
        module.name
        for module in pkgutil.iter_modules(folders)
        if DEFINES_TASK.search(
            Path(module.module_finder.path, f"{module.name}.py").read_text(encoding="utf-8")
        )
    ]
    return {name: importlib.import_module(f"{FOLDER}.{name}").TASK for name in names}
