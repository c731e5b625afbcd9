"""Finished parts of a benchmark task: kept in a folder each, so that a run that was killed continues."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dna_bigbird import __version__
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.parts import (
    array_part,
    note_damaged,
    read_array_part,
    read_json_part,
    write_json_part,
)
from dna_bigbird.core.writing import atomic_path, json_text

DONE = "done.json"


def identity_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the version of the package, which may compute something else from them."""
    return {"dna-bigbird": __version__, **settings}


def finished(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the facts of a part that was finished with these settings; None: compute it."""
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
    """Record that the files of a part are complete; the last thing that is written of it."""
    content = {"facts": dict(facts), "files": _checksums(folder)}
    write_json_part(folder / DONE, identity_of(settings), content)
    return dict(facts)


def _checksums(folder: Path) -> dict[str, str]:
    """Return the sha256 of the scores in a folder by name."""
    return {path.name: sha256_of(path) for path in sorted(folder.glob("*.h5"))}


# Scores of variants or sequences as files of a task's folder: a run that was stopped goes on where it was.

PART_ITEMS = 512
"""Items whose scores are one file."""
UNREAD = {"where": ""}
"""Fields of an item that no score depends on."""

Arrays = dict[str, NDArray]
"""Values by name, each with a row per item."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class ArrayParts:
    """The files of one task; one is computed again if what its values depend on has changed."""

    folder: Path
    identity: Mapping[str, Any]
    """All that values depend on but the items: model, genome, settings. The version is added."""

    def scored(
        self,
        name: str,
        items: Sequence[Item],
        compute: Callable[[Sequence[Item]], Arrays],
        *,
        at_once: int = PART_ITEMS,
    ) -> Arrays:
        """Return the values of at least one item, computed and stored `at_once` items per file."""
        parts = []
        for first in range(0, len(items), at_once):
            some = items[first : first + at_once]
            path = self.folder / f"{name}-{first:07d}.npz"
            fingerprint = self._fingerprint(name, some)
            arrays = read_array_part(path, fingerprint)
            if arrays is None:
                arrays = compute(some)
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_path(path) as partial:
                    partial.write_bytes(array_part(fingerprint, arrays))
            parts.append(arrays)
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}

    def _fingerprint(self, name: str, items: Sequence[Item]) -> str:
        rows = [asdict(item) | UNREAD if is_dataclass(item) else item for item in items]
        text = json_text([name, identity_of(self.identity), rows])
        return hashlib.sha256(text.encode()).hexdigest()
