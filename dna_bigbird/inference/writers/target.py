"""Where predictions go: which format, into which file or folder, and who writes it."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.choices import check_fields, checked
from dna_bigbird.errors import InputError
from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.inference.windows.tiling import Window
from dna_bigbird.writing import check_can_write

Format = Literal["tsv", "bed", "bigwig", "hdf5"]
SUFFIXES: dict[str, Format] = {
    ".tsv": "tsv", ".txt": "tsv", ".bed": "bed", ".bw": "bigwig", ".bigwig": "bigwig",
    ".h5": "hdf5", ".hdf5": "hdf5",
}  # fmt: skip
TRACKS = ("bed", "bigwig")
"""Formats with one value a base and label: windows that overlap are averaged."""
COMPRESSED = (".gz", ".bgz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True)
class Target:
    """A file, or with `folder` a folder, that is to be written in a format."""

    path: Path
    format: Format
    folder: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_track(self) -> bool:
        """Whether overlapping windows are averaged."""
        return self.format in TRACKS

    def check_labels(self, names: Sequence[str]) -> None:
        """Refuse several labels in one bigWig file.

        Raises:
            InputError: Saying how to write them.
        """
        if self.format == "bigwig" and not self.folder and len(names) > 1:
            raise InputError(
                f"{self.path}: a bigWig file holds one label, and these are {len(names)}; choose one "
                "with --labels, or name a folder: --format bigwig --output tracks"
            )


@dataclass(frozen=True)
class About:
    """What a writer may want to know of the finished rows beside themselves."""

    label_names: list[str]
    lengths: Callable[[], Mapping[str, int]]
    """Gives the base pairs of every sequence, which may take a pass over the input."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Options of the run that change the values."""
    margin_bp: int = 0
    """Bases at either end of a window that tracks leave out."""
    assembly: str = "unknown"
    files: Mapping[str, Path] = field(default_factory=dict)
    """Inputs by role."""
    checksums: Mapping[str, object] = field(default_factory=dict)
    """sha256 of what is no input file, by role."""


def frame_of(windows: Sequence[Window], probabilities: NDArray[np.float32]) -> dict[str, NDArray]:
    """Return windows and their probabilities (n, L) as columns."""
    return {
        "sequence": np.array([window.name.encode() for window in windows]),
        "start": np.array([window.start for window in windows], np.int64),
        "end": np.array([window.end for window in windows], np.int64),
        "probabilities": probabilities,
    }


def write(target: Target, spool: Spool, about: About) -> None:
    """Write finished rows (frames of `frame_of`), whole or not at all.

    Raises:
        OutputError: If the disk is full.
    """
    module = importlib.import_module(f"dna_bigbird.inference.writers.{target.format}")
    (module.write_folder if target.folder else module.write)(target.path, spool, about)


@checked()
def chosen_target(output: Path | str, wanted: Format | None = None) -> Target:
    """Return what `output` and `format` mean together; unknown suffixes are TSV.

    Raises:
        InputError: If they contradict each other, or the file cannot be written.
    """
    path = Path(output)
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        raise InputError(
            f"--output {path}: files are written plain; leave out {path.suffix} and compress after"
        )
    told = SUFFIXES.get(suffix)
    if wanted and told and wanted != told:
        raise InputError(
            f"--output {path} is called like {told}, and --format says {wanted}; change one"
        )
    chosen = wanted or told or "tsv"
    folder = chosen == "bigwig" and told != "bigwig"
    check_can_write(path, folder=folder)
    if folder:
        from dna_bigbird.inference.writers.bigwig import check_replaceable

        check_replaceable(path)
    return Target(path, chosen, folder)
