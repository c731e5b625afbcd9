"""Predictions as bigWig: one file a label, one value a base."""

import contextlib
import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyBigWig

from dna_bigbird.errors import InputError
from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.inference.writers.target import About
from dna_bigbird.inference.writers.track import Placement, place_windows, segments_of
from dna_bigbird.writing import atomic_directory, atomic_path

LABELS_AT_ONCE = 64
"""Files open at the same time; every so many labels the rows are read again."""
NAMES = "labels.tsv"
"""In a folder of bigWig files: which label is in which."""
END = b"\x26\xfc\x8f\x88"
"""The last bytes of a whole bigWig file."""


def write(path: Path, spool: Spool, about: About) -> None:
    """Write the only label into a file.

    Raises:
        InputError: If no window has a score.
        OutputError: If the disk is full.
    """
    placement = _placed(path, spool, about)
    with atomic_path(path) as partial:
        _write_labels([partial], 0, spool, about, placement)


def write_folder(path: Path, spool: Spool, about: About) -> None:
    """Write every label into a file of its own in a folder, and a list of them.

    Raises:
        InputError: If the folder holds anything that an earlier run did not write, or no window
            has a score.
        OutputError: If the disk is full.
    """
    placement = _placed(path, spool, about)
    check_replaceable(path)
    files = file_names(about.label_names)
    lines = [f"{label}\t{file}\n" for label, file in zip(about.label_names, files, strict=True)]
    with atomic_directory(path) as partial:
        (partial / NAMES).write_text("".join(["label\tfile\n", *lines]), encoding="utf-8")
        for first in range(0, len(files), LABELS_AT_ONCE):
            paths = [partial / file for file in files[first : first + LABELS_AT_ONCE]]
            _write_labels(paths, first, spool, about, placement)


def _placed(path: Path, spool: Spool, about: About) -> Placement:
    placement = place_windows(spool, about.margin_bp)
    if not len(placement.row):
        raise InputError(f"{path}: no window has a score; a bigWig file cannot be empty")
    return placement


def check_replaceable(folder: Path) -> None:
    """Refuse to write in place of a folder with other files than those of an earlier run.

    Raises:
        InputError: Naming one of the files.
    """
    if not folder.exists():
        return
    listing = folder / NAMES
    own = {NAMES}
    if listing.is_file():
        lines = listing.read_text(encoding="utf-8").splitlines()
        own |= {line.rpartition("\t")[2] for line in lines}
    for file in sorted(folder.iterdir()):
        if file.name not in own:
            raise InputError(
                f"{folder}: the folder holds {file.name}, which no run of this command wrote; "
                "name a new folder"
            )


def file_names(label_names: Sequence[str]) -> list[str]:
    """Return a file name for every label, different also where upper and lower case are one.

    Example:
        >>> file_names(["K562|CTCF|None", "a/b", "A b"])
        ['K562_CTCF_None.bw', 'a_b.bw', 'A_b_2.bw']
    """
    used: dict[str, int] = {}
    names = []
    for label in label_names:
        stem = re.sub(r"[^\w.+-]", "_", label)[:200].lstrip(".") or "_"
        name = stem
        while name.casefold() in used:
            used[stem.casefold()] += 1
            name = f"{stem}_{used[stem.casefold()]}"
        used[name.casefold()] = 1
        names.append(f"{name}.bw")
    return names


def _write_labels(
    paths: Sequence[Path], first: int, spool: Spool, about: About, placement: Placement
) -> None:
    known = about.lengths()
    lengths = {name: known[name] for name in placement.chromosomes}
    column = spool.column("probabilities")
    bases = 0
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_new(path, lengths)) for path in paths]
        for found in segments_of(placement, column, slice(first, first + len(paths))):
            chroms = [found.chrom] * len(found.start)
            bases += int((found.end - found.start).sum())
            for file, values in zip(files, found.values.T, strict=True):
                file.addEntries(chroms, found.start, ends=found.end, values=values)
    for path in paths:
        _check_whole(path, bases)


@contextlib.contextmanager
def _new(path: Path, lengths: Mapping[str, int]):
    file = pyBigWig.open(os.fspath(path), "w")
    try:
        file.addHeader(list(lengths.items()))
        yield file
    except RuntimeError as error:
        raise OSError(errno.ENOSPC, f"bigWig: {error}", os.fspath(path)) from error
    finally:
        file.close()


def _check_whole(path: Path, bases: int) -> None:
    """Hold a file against what was put in: the library does not tell of every failed write."""
    try:
        with open(path, "rb") as stream:
            stream.seek(-len(END), os.SEEK_END)
            whole = stream.read() == END
        with pyBigWig.open(os.fspath(path)) as file:
            whole = whole and file.header()["nBasesCovered"] == bases
    except (OSError, RuntimeError):
        whole = False
    if not whole:
        raise OSError(errno.ENOSPC, "the disk took only a part of it", os.fspath(path))
