"""The folder of a training run: whose it is, what it continues from.

    settings.json            everything that decides the result: settings, seed, input checksums;
                             below "chosen" what the run chose by itself
    step_000200.ckpt         whole training state after 200 steps; the newest two are kept
    best_000100.ckpt         weights of the best validation so far; the newest two are kept
    .lock                    held by the running process (kernel lock: a killed one frees it)
    superseded-0001/         states that other settings began or that are damaged: never deleted

A run continues only what the same settings began. What cannot be read now (permissions, a
failing disk, too little memory) stops the run; only what is proven to be damaged is skipped.
"""

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dna_bigbird.core.choices import OLD_CHOICES
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.scratch import remove_dead_scratch
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.training.checkpoint_files import WHOLE_STATE, DamagedError, read_checkpoint

# The settings that a folder of checkpoints was made with, and how they differ from others.

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


TABLES = ("history.tsv", "speed.tsv")
KEPT = 2


def step_path(folder: Path, step: int) -> Path:
    """Return where the training state after `step` steps lies."""
    return folder / f"step_{step:09d}.ckpt"


def best_path(folder: Path, step: int) -> Path:
    """Return where the weights of the best validation lie, if it came after `step` steps."""
    return folder / f"best_{step:09d}.ckpt"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process."""
    busy = (
        f"{folder}: another process trains in this folder now; wait for it or stop it, or give "
        "--checkpoints another folder"
    )
    with contextlib.ExitStack() as stack:
        with usable(folder):
            stack.enter_context(kernel_lock(folder / ".lock", busy))
        yield


def open_run(
    folder: Path,
    settings: dict,
    is_writer: bool = True,
    choose: Callable[[], dict] | None = None,
) -> Path | None:
    """Return the checkpoint to continue from, or None to begin."""
    # An unfinished run of other settings, and what cannot be read or written now, is an InputError;
    # nothing is changed then. What `choose` returns is kept with the settings, but not compared.
    settings = json.loads(json.dumps(settings))
    with usable(folder):
        if not is_writer:
            wait_for_settings(folder, settings, with_choice=choose is not None)
            return newest_usable(folder)
        folder.mkdir(parents=True, exist_ok=True)
        begun = read_settings(folder)
        if begun != settings:
            states = list_checkpoints(folder, "step") + list_checkpoints(folder, "best")
            if states:
                change = describe_change(begun, settings)
                refuse_unfinished(folder, begun, change)
                # The settings first: a kill in between leaves nothing that could be continued.
                others = [folder / name for name in (SETTINGS, *TABLES)]
                moved = set_aside(folder, [others[0], *states, *others[1:]])
                note(f"{folder}: {change}; training starts over; the earlier states are in {moved}")
            write_settings(folder, settings, choose)
        elif choose is not None and not read_chosen(folder):
            write_settings(folder, settings, choose)
        remove_dead_scratch(folder)
        newest = newest_usable(folder)
        set_newer_aside(folder, newest)
    return newest


def refuse_unfinished(folder: Path, begun: dict | None, change: str) -> None:
    """Raise InputError if the run of these settings has steps left: another one would give up its work."""
    training = (begun or {}).get("training", {})
    states = list_checkpoints(folder, "step")
    if not states or step_of(states[-1]) >= training.get("max_steps", 0):
        return
    if training.get("patience"):
        with contextlib.suppress(DamagedError):
            keeper = keeper_state(states[-1], read_checkpoint(states[-1], WHOLE_STATE))
            if keeper["validations_since_best"] >= training["patience"]:
                return
    raise InputError(
        f"{folder}: {change}, and the training there is at step {step_of(states[-1])} of "
        f"{training['max_steps']}; with the earlier settings it continues. To start over, give --checkpoints "
        "another folder, or move this one away"
    )


def write_settings(folder: Path, settings: dict, choose: Callable[[], dict] | None) -> None:
    """Put settings and choices down."""
    chosen = {} if choose is None else {CHOSEN: choose()}
    with atomic_path(folder / SETTINGS) as path:
        path.write_text(json.dumps(settings | chosen, indent=2) + "\n")


def run_sha256(folder: Path) -> str:
    """Return a checksum of the settings of a folder, which its checkpoints have."""
    return hashlib.sha256(json.dumps(read_settings(folder), sort_keys=True).encode()).hexdigest()


def newest_usable(folder: Path) -> Path | None:
    """Return the newest whole training state whose best weights are whole too."""
    run = run_sha256(folder)
    for path in reversed(list_checkpoints(folder, "step")):
        try:
            state = read_checkpoint(path, WHOLE_STATE, run)
            best_step = keeper_state(path, state)["best_step"]
            if best_step is not None:
                read_checkpoint(best_path(folder, best_step), run=run)
        except DamagedError as error:
            note(f"{error}; looking for a training state older than {path.name}")
        else:
            return path
    return None


def keeper_state(path: Path, state: dict[str, Any]) -> dict[str, Any]:
    """Return what a training state remembers of its validations; `best_step` is None before any."""
    for name, callback in state["callbacks"].items():
        if name.startswith("Checkpoints") and "best_step" in callback:
            return callback
    raise DamagedError(f"{path}: damaged: it lacks the step of the best validation")


def set_newer_aside(folder: Path, newest: Path | None) -> None:
    """Move what is newer than the state to continue from: `prune` would keep it and delete others."""

    def newer(prefix: str) -> list[Path]:
        start = 0 if newest is None else step_of(newest) + 1
        return [path for path in list_checkpoints(folder, prefix) if step_of(path) >= start]

    if damaged := newer("step"):
        moved = set_aside(folder, damaged + newer("best"))
        note(f"{folder}: what was skipped is in {moved}")


def set_aside(folder: Path, paths: list[Path]) -> Path:
    """Move files to a new folder `superseded-…`, which is returned; missing ones are left out."""
    number = 1
    while (target := folder / f"superseded-{number:04d}").exists():
        number += 1
    target.mkdir()
    for path in paths:
        if path.exists():
            os.rename(path, target / path.name)
    return target


def list_checkpoints(folder: Path, prefix: str) -> list[Path]:
    """Return the 'step' or 'best' checkpoints, oldest first."""
    # Not `Path.glob`, which would return nothing for a folder that cannot be listed.
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(folder / name for name in names if re.fullmatch(rf"{prefix}_\d+\.ckpt", name))


def step_of(path: Path) -> int:
    """Return the step in the name of a checkpoint."""
    return int(path.stem.rpartition("_")[2])


def prune(folder: Path) -> None:
    """Delete all but the newest checkpoints of both kinds."""
    # Best weights are kept as long as one of the kept states may name them: the newest two do.
    for prefix in ("step", "best"):
        for path in list_checkpoints(folder, prefix)[:-KEPT]:
            path.unlink(missing_ok=True)
