"""Reading the HDF5 files that `attribute` writes: bases and effects of windows, for motif discovery."""

# n windows, W bases of a window

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.hdf5 import open_hdf5
from dna_bigbird.prediction.writers.attributions import ATTRIBUTIONS_FORMAT, ATTRIBUTIONS_VERSION

ADVICE = "expected a file of: dna-bigbird attribute --output FILE.h5"


@dataclass(frozen=True, eq=False)
class AttributedWindows:
    """Windows with the effect of each base on the log odds of a label."""

    label: str
    assembly: str
    bases: NDArray[np.float32]
    """(n, W, 4), 1 at A, C, G or T; N and what is beyond the end of a record have no 1."""
    effects: NDArray[np.float32]
    """(n, W, 4), in log odds: of A, C, G and T in place of a base; if the model reads longer tokens, 0 but at the base itself."""
    sequences: list[str]
    starts: NDArray[np.int64]
    """(n,), 0-based position of the first base of each window on its sequence."""
    ends: NDArray[np.int64]
    """(n,), end of what was read, exclusive; a short window ends before its last column."""

    @property
    def scores(self) -> NDArray[np.float32]:
        """(n, W), effect of each base of the sequence, in log odds."""
        return (self.bases * self.effects).sum(axis=2)


def attribution_paths(paths: Iterable[Path | str]) -> list[Path]:
    """Return the files that paths name; a folder stands for its .h5 files, in the order of their names.

    Raises:
        InputError: If there is no path, or a folder has no such file.
    """
    listed: list[Path] = []
    for path in map(Path, paths):
        files = sorted(path.glob("*.h5")) if path.is_dir() else [path]
        if not files:
            raise InputError(f"{path}: this folder has no .h5 file; {ADVICE}")
        listed += files
    if not listed:
        raise InputError(f"--attributions names no file; {ADVICE}")
    return listed


def read_attributions(path: Path, middle_bp: int = 0) -> AttributedWindows:
    """Return the windows of a file.

    Args:
        middle_bp: Bases in the middle of each window that are read; 0 for all, also of shorter windows.

    Raises:
        InputError: If it is not a file of `attribute`, comes from another version, or is damaged.
    """
    with open_hdf5(path, ADVICE) as file:
        form = file.attrs.get("format", "nothing")
        if form != ATTRIBUTIONS_FORMAT:
            raise InputError(
                f"{path}: format is {shortened(form)!r}, not {ATTRIBUTIONS_FORMAT!r}; {ADVICE}"
            )
        version = int(file.attrs["format_version"])
        if version != ATTRIBUTIONS_VERSION:
            raise InputError(
                f"{path}: format_version {version}; this version reads {ATTRIBUTIONS_VERSION}. Run attribute again"
            )
        width = file["input_seqs"].shape[1]
        kept = min(middle_bp, width) or width
        first = (width - kept) // 2
        middle = slice(first, first + kept)
        ends = file["rows/end"][:]
        starts = file["rows/start"][:] + first
        return AttributedWindows(
            str(file.attrs["label"]),
            str(file.attrs["assembly"]),
            file["input_seqs"][:, middle].astype(np.float32),
            file["hyp_scores"][:, middle].astype(np.float32),
            [name.decode() for name in file["rows/sequence"][:]],
            starts,
            np.minimum(ends, starts + kept),
        )


def check_together(files: Sequence[tuple[Path, AttributedWindows]]) -> None:
    """Raise InputError if two files have one label, or coordinates of different assemblies."""
    labels: dict[str, Path] = {}
    first_path, first = files[0]
    for path, windows in files:
        if windows.label in labels:
            raise InputError(
                f"{path}: label {windows.label}, as {labels[windows.label]}; each label may be there once"
            )
        labels[windows.label] = path
        if windows.assembly != first.assembly:
            raise InputError(
                f"{path}: assembly {windows.assembly}, but {first_path} has {first.assembly}; "
                "the hits of one run have coordinates of one assembly"
            )
