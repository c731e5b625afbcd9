"""`text train`: its options depend on the task, which is looked up before they are read."""

from collections.abc import Callable
from pathlib import Path

from dna_bigbird.core.errors import note
from dna_bigbird.core.yaml_files import read_yaml

TRAIN = "text train"
END_OF_OLD_NAMES = "0.2"


def current_name(command: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return the current name of a command and its arguments; 0.1 had `text train-hotpotqa`."""
    if not command.startswith(f"{TRAIN}-"):
        return command, rest
    from dna_bigbird.bundles.text_tasks import tasks

    for task in tasks().values():
        if task.old_command and command == f"text {task.old_command}":
            note(
                f"{command} is now: dna-bigbird {TRAIN} --task {task.name}; the old name goes with "
                f"version {END_OF_OLD_NAMES}"
            )
            return TRAIN, ["--task", task.name, *rest]
    return command, rest


def train_function(argv: list[str]) -> Callable:
    """Return `text.train` with the options of the task in the arguments, else of all tasks."""
    from dna_bigbird.text.set_options import check_task
    from dna_bigbird.text.text_train import typed_train

    help_only = not argv or not {"-h", "--help"}.isdisjoint(argv)
    name = task_of(argv)
    if name is not None or not help_only:
        check_task(name)
    return typed_train(name)


def task_of(argv: list[str]) -> str | None:
    """Return the value of --task, or of `task:` in the last --config file that has it.

    Example:
        >>> task_of(["--seed", "1", "--task", "hotpotqa"]), task_of(["--seed", "1"])
        ('hotpotqa', None)
    """
    named, configured = None, None
    for position, argument in enumerate(argv):
        name, equals, value = argument.partition("=")
        if not equals:
            value = argv[position + 1] if position + 1 < len(argv) else ""
        if name == "--task":
            named = value
        elif name == "--config" and value:
            task = read_yaml(Path(value)).values().get("task")
            configured = configured if task is None else str(task)
    return named or configured
