"""Predictions as bigWig: one file per label, one value per base."""

import contextlib
import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import FILE_PER_LABEL, atomic_directory
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.writers.target import (
    LABEL_LIST,
    Target,
    WriteContext,
    file_names,
)
from dna_bigbird.prediction.writers.tracks import (
    Placement,
    SegmentsOf,
    base_segments_of,
    place_windows,
    segments_of,
)

LABELS_AT_ONCE = 64
"""Files open at the same time; the rows are read again for each such group of labels."""


class Values(NamedTuple):
    """Which values of partial results are written."""

    column: str
    segments_of: SegmentsOf


PROBABILITIES = Values("probabilities", segments_of)
EFFECTS = Values("effects", base_segments_of)
END = b"\x26\xfc\x8f\x88"
"""The last bytes of a complete bigWig file."""


def write_bigwig(path: Path, stored: PartialResults, context: WriteContext) -> None:
    """Write the only label to a file."""
    _write_file(path, stored, context, PROBABILITIES)


def write_bigwig_folder(path: Path, stored: PartialResults, context: WriteContext) -> None:
    """Write one file per label into a folder, and a list of them."""
    _write_folder(path, stored, context, PROBABILITIES)


def write_base_tracks(target: Target, stored: PartialResults, context: WriteContext) -> None:
    """Write effects of bases: a file of the only label, or a folder with one per label."""
    write = _write_folder if target.folder else _write_file
    write(target.path, stored, context, EFFECTS)


def _write_file(path: Path, stored: PartialResults, context: WriteContext, values: Values) -> None:
    placement = _placement(path, stored, context, values)
    with atomic_path(path) as partial:
        _write_labels([partial], 0, stored, context, placement, values)


def _write_folder(
    path: Path, stored: PartialResults, context: WriteContext, values: Values
) -> None:
    placement = _placement(path, stored, context, values)
    files = file_names(context.label_names)
    lines = [f"{label}\t{file}\n" for label, file in zip(context.label_names, files, strict=True)]
    with atomic_directory(path, FILE_PER_LABEL) as partial:
        (partial / LABEL_LIST).write_text("".join(["label\tfile\n", *lines]), encoding="utf-8")
        for first in range(0, len(files), LABELS_AT_ONCE):
            paths = [partial / file for file in files[first : first + LABELS_AT_ONCE]]
            _write_labels(paths, first, stored, context, placement, values)


def _placement(
    path: Path, stored: PartialResults, context: WriteContext, values: Values
) -> Placement:
    placement = place_windows(stored, context.margin_bp, values.column)
    if not len(placement.row):
        raise InputError(f"{path}: no window has a score; a bigWig file cannot be empty")
    return placement


def _write_labels(
    paths: Sequence[Path],
    first: int,
    stored: PartialResults,
    context: WriteContext,
    placement: Placement,
    values: Values,
) -> None:
    known = context.lengths()
    lengths = {name: known[name] for name in placement.chromosomes}
    column = stored.column(values.column)
    bases = 0
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_new_file(path, lengths)) for path in paths]
        for segments in values.segments_of(placement, column, slice(first, first + len(paths))):
            chroms = [segments.chrom] * len(segments.start)
            bases += int((segments.end - segments.start).sum())
            for file, of_label in zip(files, segments.values.T, strict=True):
                file.addEntries(chroms, segments.start, ends=segments.end, values=of_label)
    for path in paths:
        _check_complete(path, bases)


@contextlib.contextmanager
def _new_file(path: Path, lengths: Mapping[str, int]):
    import pyBigWig

    file = pyBigWig.open(os.fspath(path), "w")
    try:
        file.addHeader(list(lengths.items()))
        yield file
    except RuntimeError as error:
        raise OSError(errno.ENOSPC, f"bigWig: {error}", os.fspath(path)) from error
    finally:
        file.close()


def _check_complete(path: Path, bases: int) -> None:
    """Raise OSError if a file is incomplete: the library does not report every failed write."""
    import pyBigWig

    try:
        with open(path, "rb") as stream:
            stream.seek(-len(END), os.SEEK_END)
            is_complete = stream.read() == END
        with pyBigWig.open(os.fspath(path)) as file:
            is_complete = is_complete and file.header()["nBasesCovered"] == bases
    except (OSError, RuntimeError):
        is_complete = False
    if not is_complete:
        raise OSError(errno.ENOSPC, "only part of the file was written", os.fspath(path))
