"""Scores of many sequences in files, a part at a time, so that a run that was killed goes on."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.errors import InputError
from dna_bigbird.files import read_json
from dna_bigbird.writing import atomic_path, json_text

PART = 2000
"""Sequences of a file."""


def stored_scores(
    folder: Path,
    texts: Sequence[str],
    score: Callable[[Sequence[str]], NDArray[np.float64]],
    settings: Mapping[str, Any],
) -> NDArray[np.float64]:
    """Return the scores of sequences; files of finished parts are read, the others are written.

    Args:
        folder: Of the files, `scores-00000.json` and so on; it may be absent.
        score: Of some sequences, to (n, columns); it is called only for parts that have no file.
        settings: What decides the scores, but for the sequences: plain JSON values. A file of other
            settings or sequences is replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for number, first in enumerate(range(0, len(texts), PART)):
        part = texts[first : first + PART]
        path = folder / f"scores-{number:05d}.json"
        facts = {**settings, "sequences": digest_of(part)}
        values = _read(path, facts)
        if values is None:
            values = np.asarray(score(part), dtype=np.float64)
            with atomic_path(path) as temporary:
                lists = [[None if np.isnan(x) else x for x in row] for row in values.tolist()]
                temporary.write_text(json_text({"settings": facts, "scores": lists}))
        parts.append(values)
    return np.concatenate(parts) if parts else np.empty((0, 1))


def digest_of(texts: Sequence[str]) -> str:
    """Return the SHA-256 of some sequences in their order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)}:{text}\n".encode())
    return digest.hexdigest()


def _read(path: Path, facts: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Return the scores of a file; None if it is absent, damaged or has other facts."""
    try:
        stored = read_json(path)
        if stored["settings"] != dict(facts):
            return None
        return np.array(stored["scores"], dtype=np.float64)
    except (InputError, KeyError, TypeError, ValueError):
        return None
