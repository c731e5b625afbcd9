"""A fine-tuned text model, and its task with other options than in training."""

from dataclasses import fields, replace
from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.text.set_rows import check_length
from dna_bigbird.text.tasks.lookup import task_from_config
from dna_bigbird.text.tasks.task import TextTask


def open_model(model: Path, changes: str) -> tuple[Bundle, TextTask]:
    """Load a fine-tuned text model and its task.

    Args:
        changes: As `changed_options`.

    Raises:
        InputError: If it is no such bundle, or an option is unknown or wrong.
    """
    bundle = load_bundle(model)
    bundle.check_text_task()
    task = task_from_config(bundle.config)
    task.options = changed_options(task.options, changes)
    check_length(task, bundle.config.encoder.max_tokens, model)
    return bundle, task


def changed_options(options, changes: str):
    """Return settings with some of them replaced.

    Args:
        changes: 'name=value', several with commas between.

    Raises:
        InputError: If there is none of a name, or a value is wrong.

    Example:
        >>> from dna_bigbird.models.config import HeadConfig
        >>> changed = changed_options(HeadConfig(), "centre_tokens=7,dropout=0")
        >>> changed.pooling, changed.centre_tokens, changed.dropout
        ('cls', 7, 0.0)
    """
    values = {}
    known = {field.name: type(field.default) for field in fields(options)}
    for change in filter(None, changes.split(",")):
        name, _, text = (part.strip() for part in change.partition("="))
        if name not in known:
            raise InputError(f"--change {name}: no such option; known are {', '.join(known)}")
        try:
            values[name] = (
                {"true": True, "false": False}[text.lower()]
                if known[name] is bool
                else known[name](text)
            )
        except (KeyError, ValueError):
            raise InputError(
                f"--change {name}={text}: expected a value like {getattr(options, name)}"
            ) from None
    with checked_settings():
        return replace(options, **values)
