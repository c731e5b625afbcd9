"""Checkpoint files: written whole, verified before they are used, read without running code.

A checkpoint is a zip file, whose checksums torch does not look at. They cover the data, but not where
torch looks for it, so `content_sha256` inside covers the names, types and values of everything.
"""

import errno
import hashlib
import pickle
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path

CONTENT, RUN = "content_sha256", "run_sha256"
WEIGHTS = ("state_dict",)
"""What a checkpoint of an earlier version, without `CONTENT`, must have to be of use."""
WHOLE_STATE = (
    *WEIGHTS, "callbacks", "epoch", "global_step", "history_windows", "loops", "lr_schedulers",
    "optimizer_states",
)  # fmt: skip
"""The same of a whole training state."""


class DamagedError(InputError):
    """A checkpoint that is missing, or proven not to be what was written."""


def save_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Write the whole checkpoint or none."""
    with atomic_path(path) as partial:
        torch.save({**checkpoint, CONTENT: content_sha256(checkpoint)}, partial)


def read_checkpoint(path: Path, required: Iterable[str] = WEIGHTS, run: str = "") -> dict[str, Any]:
    """Verify a checkpoint and read it into memory: tensors and plain values, never code.

    Args:
        run: Checksum of the settings of its run; not compared if empty, or if it has none (earlier versions).

    Raises:
        DamagedError: If it is missing, fails its checksums, lacks a key, or comes from another run.
        InputError: If it cannot be read now, which proves nothing about the file.
    """
    try:
        with open(path, "rb") as stream:
            if damaged := zipfile.ZipFile(stream).testzip():
                raise DamagedError(f"{path}: damaged: wrong checksum of {damaged}")
            stream.seek(0)
            checkpoint = torch.load(stream, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except FileNotFoundError as error:
        raise DamagedError(f"{path}: missing") from error
    except Exception as error:  # a damaged zip or pickle raises nearly anything
        raise explained(path, error) from error
    _check_content(path, checkpoint, required)
    if run and checkpoint.get(RUN, run) != run:
        raise DamagedError(f"{path}: it comes from a run with other settings")
    return checkpoint


def explained(path: Path, error: Exception) -> InputError:
    """Return the line for a checkpoint that could not be read: damaged, or not to be read now."""
    # A damaged table of contents makes zipfile seek to before the start of the file.
    is_seek = isinstance(error, OSError) and error.errno == errno.EINVAL
    if isinstance(error, OSError) and not is_seek:
        reason = error.strerror or " ".join(str(error).split())
    elif isinstance(error, MemoryError) or "allocate memory" in str(error):  # torch's RuntimeError
        reason = "not enough memory"
    elif isinstance(error, pickle.UnpicklingError):
        return DamagedError(f"{path}: damaged: it has something else than tensors and plain values")
    else:
        text = " ".join(str(error).split())[:120] or type(error).__name__
        return DamagedError(f"{path}: damaged: {text}")
    return InputError(
        f"{path}: cannot read it now: {reason}; nothing was changed. Once it can be read the same "
        "command goes on; to start over give --checkpoints another folder"
    )


def _check_content(path: Path, checkpoint: Any, required: Iterable[str]) -> None:
    if not isinstance(checkpoint, dict):
        raise DamagedError(f"{path}: damaged: no checkpoint of a training")
    if missing := [key for key in required if key not in checkpoint]:
        raise DamagedError(f"{path}: damaged: it lacks {', '.join(missing)}")
    expected = checkpoint.pop(CONTENT, None)
    if expected is not None and expected != content_sha256(checkpoint):
        raise DamagedError(f"{path}: damaged: its content is not what was written")


def content_sha256(content: dict[str, Any] | list) -> str:
    """Return a checksum of the names, types and values of all that a checkpoint has, at any depth."""
    digest = hashlib.sha256()
    _add(digest, content)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, dict):
        digest.update(f"dict {len(value)}".encode())
        for key in sorted(value, key=repr):
            digest.update(f"{key!r}:".encode())
            _add(digest, value[key])
    elif isinstance(value, list | tuple):
        digest.update(f"list {len(value)}".encode())
        for item in value:
            _add(digest, item)
    elif isinstance(value, torch.Tensor):
        digest.update(f"{value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    else:
        digest.update(type(value).__name__.encode())
        if isinstance(value, int | float | str):
            digest.update(repr(value).encode())
