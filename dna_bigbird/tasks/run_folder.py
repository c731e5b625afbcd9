"""The folder of a training run: whose it is, what it continues from.

    settings.json            everything that decides the result: settings, seed, input checksums
    step_000200.ckpt         whole training state after 200 steps; the newest two are kept
    best_000100.ckpt         weights of the best validation so far; the newest two are kept
    .lock                    held by the running process (kernel lock: a killed one frees it)

A run continues only what the very same settings began. Checkpoints are read with
`weights_only=True`: tensors and plain values, never code.
"""

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from dna_bigbird.errors import InputError
from dna_bigbird.files import atomic_path
from dna_bigbird.locks import kernel_lock
from dna_bigbird.scratch import remove_dead_scratch

SETTINGS = "settings.json"
KEPT = 2
WAIT_S = 600


def step_path(folder: Path, step: int) -> Path:
    """Return where the training state after `step` steps lies."""
    return folder / f"step_{step:09d}.ckpt"


def best_path(folder: Path, step: int) -> Path:
    """Return where the weights of the best validation lie, if it came after `step` steps."""
    return folder / f"best_{step:09d}.ckpt"


def read_checkpoint(path: Path) -> dict[str, Any] | None:
    """Read a checkpoint into memory; None if it is missing or damaged."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # a damaged zip or pickle raises nearly anything
        return None


def locked(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Hold the folder for this process.

    Raises:
        InputError: If another living process trains there.
    """
    return kernel_lock(
        folder / ".lock",
        f"{folder}: another process trains in this folder now; wait for it or stop it, or give "
        "--checkpoints another folder",
    )


def open_run(folder: Path, settings: dict, is_writer: bool = True) -> Path | None:
    """Return the checkpoint to continue from, or None to begin.

    What other settings or inputs began is deleted, with a note that names the difference.

    Args:
        settings: Nested dict of plain values.
        is_writer: True on the process of rank zero; others wait until it has looked after the
            folder.
    """
    settings = json.loads(json.dumps(settings))
    if not is_writer:
        wait_for_settings(folder, settings)
        return newest_usable(folder)
    folder.mkdir(parents=True, exist_ok=True)
    remove_dead_scratch(folder)
    found = read_settings(folder)
    if found != settings:
        checkpoints = list_checkpoints(folder, "step") + list_checkpoints(folder, "best")
        if checkpoints:
            note(f"{folder}: {describe_change(found, settings)}; training starts over")
        for path in checkpoints:
            path.unlink()
        with atomic_path(folder / SETTINGS) as path:
            path.write_text(json.dumps(settings, indent=2) + "\n")
    return newest_usable(folder)


def newest_usable(folder: Path) -> Path | None:
    """Return the newest training state that can be read whole, together with its best weights."""
    for path in reversed(list_checkpoints(folder, "step")):
        state = read_checkpoint(path)
        best_step = best_step_of(state) if state is not None else None
        if state is not None and (
            best_step is None or read_checkpoint(best_path(folder, best_step)) is not None
        ):
            return path
        note(f"{path}: damaged or without its best weights; looking for an older one")
    return None


def best_step_of(state: dict[str, Any]) -> int | None:
    """Return the step of the best validation that a training state remembers."""
    for name, callback in state.get("callbacks", {}).items():
        if name.startswith("Checkpoints"):
            return callback["best_step"]
    return None


def list_checkpoints(folder: Path, kind: str) -> list[Path]:
    """Return the 'step' or 'best' checkpoints, oldest first."""
    return sorted(folder.glob(f"{kind}_*.ckpt"))


def prune(folder: Path) -> None:
    """Delete all but the newest checkpoints of both kinds.

    Best weights are kept as long as one of the kept states may name them: the newest two do.
    """
    for kind in ("step", "best"):
        for path in list_checkpoints(folder, kind)[:-KEPT]:
            path.unlink(missing_ok=True)


def read_settings(folder: Path) -> dict | None:
    """Return the settings that the folder's checkpoints were made with; None if unknown."""
    try:
        return json.loads((folder / SETTINGS).read_text())
    except (OSError, ValueError):
        return None


def wait_for_settings(folder: Path, settings: dict) -> None:
    """Wait until the writing process has put these settings down."""
    deadline = time.monotonic() + WAIT_S
    while read_settings(folder) != settings:
        if time.monotonic() > deadline:
            raise InputError(
                f"{folder}: the first process did not open this folder with the same settings "
                f"within {WAIT_S} s; is it on a disk that all nodes share? Where nodes differ in "
                "processors, name the --training.precision"
            )
        time.sleep(0.5)


def describe_change(old: dict | None, new: dict) -> str:
    """Say which settings differ, at most three.

    Example:
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
    """Give nested settings dotted names.

    Example:
        >>> flatten({"a": {"b": 1}, "c": 2})
        {'a.b': 1, 'c': 2}
    """
    flat = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def note(text: str) -> None:
    """Tell the user something on standard error."""
    print(f"dna-bigbird: note: {text}", file=sys.stderr)
