"""The options that `text evaluate` and `text predict` share; imports no torch."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from dna_bigbird.bundles.text_tasks import describe, tasks
from dna_bigbird.core.choices import check_fields, near
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import Backend, Device, MaxUnpackedGib, Resume, Threads
from dna_bigbird.prediction.compute import Compute


def new_task(name: str, set_name: str | None, options: object, head: object):
    """Return a `TextTask` with its settings."""
    from dna_bigbird.text.tasks.task import task_class

    check_task(name)
    task = describe(name)
    options = task_settings(options, task.options, "options")
    return task_class(name)(
        with_set(options, set_name, name), task_settings(head, task.head_type(), "head")
    )


def task_settings(settings: object, settings_type: type, name: str) -> object:
    """Return settings as the dataclass of the task."""
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
    """Return the options of a task with the set that was named on its own."""
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


@dataclass(frozen=True)
class SetOptions:
    """How a set is read, and performance settings."""

    change: str = ""
    """Options of the task that differ from those of the training: name=value, several separated by
    commas."""
    resume: Resume = False
    max_unpacked_gib: MaxUnpackedGib = 0
    batch_size: Count = 0
    """Examples computed at once: rows; 0 chooses by their length and the device."""
    precision: Literal["auto", "32-true", "bf16-mixed"] = "32-true"
    """Arithmetic: '32-true' is float32, so that results do not depend on the processor; 'bf16-mixed' is bfloat16,
    and 'auto' that where the processor or GPU has its products."""
    backend: Backend = "auto"
    threads: Threads = 0
    device: Device = "auto"

    def __post_init__(self) -> None:
        check_fields(self)

    def compute(self) -> Compute:
        names = ("batch_size", "precision", "backend", "threads", "device")
        return Compute(**{name: getattr(self, name) for name in names})
