"""What every writer of predictions gets: finished rows in a spool, and a description of the run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.errors import InputError
from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.inference.windows.tiling import Window

LABEL_LIST = "labels.tsv"
"""In a folder of bigWig files: which label is in which file."""


@dataclass(frozen=True)
class WriteContext:
    """Describes the rows: their labels, sequences and settings, and the inputs they come from."""

    label_names: list[str]
    lengths: Callable[[], Mapping[str, int]]
    """Returns the base pairs of every sequence; this may take a pass over the input."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Options of the run that change the values."""
    margin_bp: int = 0
    """Bases at either end of a window that BED and bigWig leave out."""
    assembly: str = "unknown"
    files: Mapping[str, Path] = field(default_factory=dict)
    """Inputs by role."""
    checksums: Mapping[str, object] = field(default_factory=dict)
    """sha256, by role, of what is not an input file."""


class Writer(Protocol):
    """Writes the rows of a spool (see `frame_of`) to a file or folder, whole or not at all."""

    def __call__(self, path: Path, spool: Spool, context: WriteContext) -> None:
        """Write the rows.

        Raises:
            OutputError: If the disk is full.
        """
        ...


def frame_of(windows: Sequence[Window], probabilities: NDArray[np.float32]) -> dict[str, NDArray]:
    """Return windows and their probabilities (n, L) as columns."""
    return window_columns(windows) | {"probabilities": probabilities}


def window_columns(windows: Sequence[Window]) -> dict[str, NDArray]:
    """Return the names and coordinates of windows as columns."""
    return {
        "sequence": np.array([window.name.encode() for window in windows]),
        "start": np.array([window.start for window in windows], np.int64),
        "end": np.array([window.end for window in windows], np.int64),
    }


def check_replaceable(folder: Path) -> None:
    """Raise InputError if a folder has files that no earlier run of this command wrote."""
    if not folder.exists():
        return
    listing = folder / LABEL_LIST
    own = {LABEL_LIST}
    if listing.is_file():
        lines = listing.read_text(encoding="utf-8").splitlines()
        own |= {line.rpartition("\t")[2] for line in lines}
    for file in sorted(folder.iterdir()):
        if file.name not in own:
            raise InputError(
                f"{folder}: the folder holds {file.name}, which no run of this command wrote; "
                "name a new folder"
            )
