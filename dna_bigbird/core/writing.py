"""Writing files that are either whole or absent; folders: `dna_bigbird.core.result_folders`."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import OutputError
from dna_bigbird.core.scratch import claim, real_path, scratch_folder


def json_text(value: object) -> str:
    """Return the text of a JSON file, the same for equal values."""
    return json.dumps(value, indent=2, sort_keys=False, ensure_ascii=False) + "\n"


def partial_path(path: Path) -> Path:
    """Return the name under which `path` is written until it is complete."""
    return path.with_name(f".{path.name}.partial")


def check_can_write(path: Path, *, folder: bool = False, into: bool = False) -> None:
    """Raise OutputError if a file (or folder) cannot be written here; a full disk shows later."""
    try:
        if path.exists() and not (path.is_dir() if folder else path.is_file()):
            actual = (
                "a folder" if path.is_dir() else "not a folder" if folder else "not a regular file"
            )
            expected = "a folder" if folder else "a file"
            raise OutputError(f"{path}: this is {actual}; expected the name of {expected} to write")
    except OSError as error:  # for example a name too long
        raise readable_write_error(path, error) from error
    check_can_write_in(path, into=into)


def check_can_write_in(path: Path, *, into: bool = False) -> None:
    """Raise OutputError early if the folder of an output (`into`: it) cannot be written to or created."""
    try:
        above = real_path(path) if into else real_path(path).parent
        while not above.exists():
            above = above.parent
    except OSError as error:
        raise readable_write_error(path, error) from error
    if not above.is_dir():
        raise OutputError(f"{path}: cannot write it: {above} is not a folder")
    if not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: cannot write it: no permission to write in {above}")


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Keep other processes from writing a file or folder as long as the block runs."""
    check_can_write_in(path)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(claim(path))
        except OSError as error:
            raise readable_write_error(path, error) from error
        yield


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path`, or what it links to, if the block succeeds."""
    # A killed process leaves at most a hidden folder (`scratch`), which the next run removes.
    path = Path(path)
    check_can_write(path)
    try:
        with scratch_folder(path) as scratch:
            temporary = scratch / path.name
            yield temporary
            with open(temporary, "rb") as written:
                os.fsync(written.fileno())
            temporary.replace(real_path(path))
    except OSError as error:
        raise readable_write_error(path, error) from error


def readable_write_error(path: Path, error: OSError) -> Exception:
    """Turn a failed write into the line a user reads; other failures stay as they are."""
    if error.filename is not None and not _is_part_of_output(
        Path(os.fsdecode(error.filename)), path
    ):
        return error  # something else failed, for example a missing input
    reason = error.strerror or str(error)  # h5py raises OSError with a text and no errno
    return OutputError(
        f"{path}: cannot write it: {reason}; nothing was left behind. "
        f"Is the disk full, or the folder read-only? See: df -h {path.parent}",
        reason,
    )


def _is_part_of_output(failed: Path, output: Path) -> bool:
    """Return True for the output, the folders above it and the hidden files it is written in."""
    target = real_path(output)
    hidden = (f".{output.name}.", f".{target.name}.")
    return (
        failed in (output, target)
        or real_path(failed) in target.parents
        or any(part.startswith(hidden) for part in failed.parts)
    )
