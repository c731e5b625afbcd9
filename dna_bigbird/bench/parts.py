"""Finished parts of a benchmark task: kept in a folder each, so that a run that was killed continues."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dna_bigbird import __version__
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.parts import note_damaged, read_json_part, write_json_part

DONE = "done.json"


def identity_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the version of the package, which may compute something else from them."""
    return {"dna-bigbird": __version__, **settings}


def finished(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the facts of a part that this version finished with these settings; None if it must be computed.

    Args:
        settings: Everything that decides the result, checksums of inputs included; plain JSON values.
    """
    part = read_json_part(folder / DONE, identity_of(settings))
    if part is None:
        return None
    if part["files"] != _checksums(folder):
        note_damaged(folder)
        return None
    return part["facts"]


def unfinish(folder: Path) -> None:
    """Forget that a part was finished, before its files are replaced."""
    (folder / DONE).unlink(missing_ok=True)


def finish(folder: Path, settings: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Record that the files of a part are complete; the last thing that is written of it.

    Args:
        facts: Such as a description, for the result.
    """
    content = {"facts": dict(facts), "files": _checksums(folder)}
    write_json_part(folder / DONE, identity_of(settings), content)
    return dict(facts)


def _checksums(folder: Path) -> dict[str, str]:
    """Return the sha256 of the scores in a folder by name."""
    return {path.name: sha256_of(path) for path in sorted(folder.glob("*.h5"))}
