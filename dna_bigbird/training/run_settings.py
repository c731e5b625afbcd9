"""The settings that a folder of checkpoints was made with, and how they differ from others."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dna_bigbird.core.choices import OLD_CHOICES
from dna_bigbird.core.errors import InputError

SETTINGS = "settings.json"
BACKEND = "attention_backend"
CHOSEN = "chosen"
"""Entry of settings.json for what a run chose by itself: kept, but not compared."""
WAIT_S = 600


@contextlib.contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Turn the OSError of a folder or file that cannot be used now into one line."""
    try:
        yield
    except OSError as error:
        path = error.filename or folder
        raise InputError(
            f"{path}: cannot use it: {error.strerror or error}; training has not begun and changed "
            "nothing. Make it readable and writable, or give --checkpoints another folder"
        ) from error


def read_settings(folder: Path) -> dict | None:
    """Return the settings of the folder's checkpoints, without CHOSEN; None if unknown."""
    whole = _read(folder)
    if not isinstance(whole, dict):
        return whole
    return {name: value for name, value in whole.items() if name != CHOSEN}


def read_chosen(folder: Path) -> dict:
    """Return what the run chose by itself: names to values; nothing on a CPU."""
    whole = _read(folder)
    return whole.get(CHOSEN, {}) if isinstance(whole, dict) else {}


def _read(folder: Path) -> Any:
    with usable(folder):
        try:
            return json.loads((folder / SETTINGS).read_text(), object_hook=_current)
        except (FileNotFoundError, ValueError):
            return None


def _current(settings: dict) -> dict:
    """Name the backend as it is called now."""
    name = settings.get(BACKEND)
    return settings | {BACKEND: OLD_CHOICES.get(name, name)} if name else settings


def wait_for_settings(folder: Path, settings: dict, *, with_choice: bool = False) -> None:
    """Wait until the writing process has put these settings (and its choice) down."""
    deadline = time.monotonic() + WAIT_S
    while read_settings(folder) != settings or (with_choice and not read_chosen(folder)):
        if time.monotonic() > deadline:
            raise InputError(
                f"{folder}: the first process did not open this folder with the same settings "
                f"within {WAIT_S} s; is it on a disk that all nodes share? Where nodes differ in "
                "processors, name the --training.precision (and --training.muon_precision)"
            )
        time.sleep(0.5)


def describe_change(old: dict | None, new: dict) -> str:
    """Return which settings differ, at most three.

    >>> describe_change({"seed": 0, "training": {"max_steps": 5}}, {"seed": 0, "training": {"max_steps": 9}})
    'settings changed (training.max_steps: 5 -> 9)'
    """
    if old is None:
        return "checkpoints without readable settings.json"
    before, after = flatten(old), flatten(new)
    names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
    shown = [f"{n}: {before.get(n)} -> {after.get(n)}" for n in names[:3]]
    if len(names) > 3:
        shown.append(f"{len(names) - 3} more")
    return f"settings changed ({'; '.join(shown)})"


def flatten(settings: dict, prefix: str = "") -> dict[str, Any]:
    """Give nested settings dotted names."""
    flat = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
