"""Finished parts of a benchmark task: kept in a folder each, so that a run that was killed continues."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dna_bigbird import __version__
from dna_bigbird.errors import InputError
from dna_bigbird.files import read_json
from dna_bigbird.writing import atomic_path, json_text

DONE = "done.json"


def identity_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the version of the package, which may compute something else from them."""
    return {"dna-bigbird": __version__, **settings}


def finished(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the facts of a part that this version finished with these settings; None if it must be computed.

    Args:
        settings: Everything that decides the result, checksums of inputs included; plain JSON values.
    """
    try:
        values = read_json(folder / DONE)
    except InputError:
        return None
    return values["facts"] if values.get("settings") == identity_of(settings) else None


def unfinish(folder: Path) -> None:
    """Forget that a part was finished, before its files are replaced."""
    (folder / DONE).unlink(missing_ok=True)


def finish(folder: Path, settings: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Record that the files of a part are complete; the last thing that is written of it.

    Args:
        facts: Such as a description, for the result.
    """
    with atomic_path(folder / DONE) as path:
        path.write_text(json_text({"settings": identity_of(settings), "facts": dict(facts)}))
    return dict(facts)
