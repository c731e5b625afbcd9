"""The class of a text task: the module of `text.tasks` named like its data file defines it."""

import importlib
from dataclasses import replace
from typing import Any

from dna_bigbird.bundles import text_tasks
from dna_bigbird.text.tasks.task import TextTask


def task_class(name: str) -> type[TextTask]:
    """Return the class of a task.

    Raises:
        InputError: If there is no task of that name.
    """
    description = text_tasks.describe(name)
    module = importlib.import_module(f"dna_bigbird.text.tasks.{text_tasks.module_of(name)}")
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, type) and getattr(value, "description", None) is description
    )


def task_from_config(config: Any) -> TextTask:
    """Return the task of a bundle's config, with its options and labels.

    Args:
        config: bundles.config.BundleConfig, which this folder does not import.
    """
    task = task_class(config.task)(config.options, config.head)
    task.labels = config.label_names
    task.read_by(config.encoder)
    return task


def task_for_set(name: str) -> TextTask:
    """Return the task of a set with default options."""
    description, _ = text_tasks.sets()[name]
    options = description.options()
    if hasattr(options, "set"):
        options = replace(options, set=name)
    return task_class(description.name)(options, description.head_type()())
