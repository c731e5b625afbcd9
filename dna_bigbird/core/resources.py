"""The folders that a checkout has next to the package and an installed package contains as copies."""

import contextlib
from pathlib import Path
from typing import Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError

Resource = Literal["workflow", "config", "data_specs"]
PACKAGE = Path(__file__).resolve().parents[1]
COPIES = "_files"
"""Folder of the installed package with the copies; setup.py writes it into the wheel."""


@checked()
def resource_folder(name: Resource, package: Path = PACKAGE) -> Path:
    """Return the folder `workflow/`, `config/` or `data_specs/` of the package that runs.

    Example:
        >>> (resource_folder("workflow") / "Snakefile").is_file()
        True
    """
    for parent in (package / COPIES, package.parent):
        if (parent / name).is_dir():
            return parent / name
    raise InputError(
        f"{package}: this copy of the package lacks {name}/; install it again: pip install dna-bigbird"
    )


def import_folder(work: Path, package: Path = PACKAGE) -> Path:
    """Return a folder for PYTHONPATH from which another Python imports only this package."""
    # An installed package lies among all the others, which a conda environment has in its own versions:
    # there, a folder is made in `work` with a link to the package.
    if not (package / COPIES).is_dir():
        return package.parent
    folder = work.absolute() / "dna-bigbird"
    link = folder / package.name
    folder.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        link.unlink(missing_ok=True)  # of an environment that is gone
        with contextlib.suppress(FileExistsError):  # another job has made it
            link.symlink_to(package)
    return folder
