"""What a source in a config is: a path, or the name of a description in data_specs/."""

import os
import re
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.sources.specs import find_spec


def is_path(source: str) -> bool:
    """Return True if a source is a path.

    It is one with a `/` in it, with `~` at its start, or where a file or folder of that name is in the
    working folder; but a name that data_specs/ describes stays the name of the description: write
    `./NAME` for the file.

    Example:
        >>> [is_path(x) for x in ("peaks/a.bed", "~", "./grch37_genome", "grch37_genome")]
        [True, True, True, False]
    """
    if "/" in source or source.startswith("~"):
        return True
    return os.path.exists(source) and not _is_described(source)


def plain_path(path: str) -> str:
    """Return a path as rules name it: the home folder written out, without `./` and `//`.

    Example:
        >>> [plain_path(x) for x in ("./a.fa", "././b//c", "../d", "/e", "./")]
        ['a.fa', 'b/c', '../d', '/e', '.']
    """
    path = re.sub("/+", "/", os.path.expanduser(path))
    return re.sub(r"^(\./)+", "", path) or "."


def check_source(source: str) -> None:
    """Raise InputError for a path without a file, and for a name that data_specs/ does not describe."""
    if is_path(source):
        if not Path(plain_path(source)).exists():
            raise InputError(f"{source}: no such file{_near_file(source)}")
        return
    try:
        find_spec(source)
    except InputError as error:
        raise InputError(f"no file {source!r} in {Path.cwd()}, and {error}") from None


def _is_described(name: str) -> bool:
    try:
        return find_spec(name).is_file()
    except InputError:
        return False


def _near_file(source: str) -> str:
    """Return where a relative path was looked for."""
    path = plain_path(source)
    return "" if os.path.isabs(path) else f" (looked for in {Path.cwd()}, where the command runs)"
