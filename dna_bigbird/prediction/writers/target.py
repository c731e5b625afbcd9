"""Where predictions go: which format, and the interface of all writers."""

import contextlib
import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import check_fields, checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.file_formats import check_known
from dna_bigbird.core.files import check_utf8_name, sha256_of
from dna_bigbird.core.paths import STANDARD_STREAM
from dna_bigbird.core.result_folders import FILE_PER_LABEL, atomic_directory
from dna_bigbird.core.scratch import real_path
from dna_bigbird.core.writing import atomic_path, check_can_write
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.windows.tiling import Window

Format = Literal["tsv", "csv", "bed", "bigwig", "hdf5"]
SUFFIXES: dict[str, Format] = {
    ".tsv": "tsv", ".txt": "tsv", ".csv": "csv", ".bed": "bed", ".bw": "bigwig", ".bigwig": "bigwig",
    ".h5": "hdf5", ".hdf5": "hdf5",
}  # fmt: skip
TRACKS = ("bed", "bigwig")
"""Formats with one value per base and label: windows that overlap are averaged."""
COMPRESSED = (".gz", ".bgz", ".bz2", ".xz", ".zst")
LABEL_LIST = "labels.tsv"
"""In a folder of bigWig files: which label is in which file."""
ROW_NAME = "name"
"""Column of the name of a window's BED row, if the BED has names."""


@dataclass(frozen=True)
class Target:
    """A file to write in a format; with `folder`, a folder."""

    path: Path
    format: Format
    folder: bool = False
    per_label: tuple[Format, ...] = ("bigwig",)
    """Formats whose files hold one label each."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_track(self) -> bool:
        """Whether overlapping windows are averaged."""
        return self.format in TRACKS

    def check_labels(self, names: Sequence[str]) -> None:
        """Raise InputError for several labels in a file that holds one, with the way to write them."""
        if self.format in self.per_label and not self.folder and len(names) > 1:
            name = {"bigwig": "a bigWig", "hdf5": "an HDF5"}[self.format]
            raise InputError(
                f"{self.path}: {name} file holds one label, and these are {len(names)}; choose one "
                f"with --labels, or name a folder: --format {self.format} --output tracks"
            )


@checked()
def chosen_target(
    output: Path | str, format: Format | None = None, per_label: tuple[Format, ...] = ("bigwig",)
) -> Target:
    """Return the file that `output` and `format` describe; a name without a suffix is TSV."""
    # per_label: formats with one label per file; without their suffix the output is a folder.
    path = Path(output)
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        raise InputError(
            f"--output {path}: files are written uncompressed; leave out {path.suffix} and compress "
            "the file afterwards"
        )
    by_name = SUFFIXES.get(suffix)
    check_known("--output", path, tuple(SUFFIXES), format)
    check_same_format(path, by_name, format)
    chosen = format or by_name or "tsv"
    folder = chosen in per_label and by_name != chosen
    if chosen == "bigwig":
        check_utf8_name(real_path(path), "the library for bigWig files")
    if folder:
        FILE_PER_LABEL.check_replaceable(path)
    else:
        check_can_write(path)
    return Target(path, chosen, folder, per_label)


@checked()
def file_target(
    output: Path | str | None,
    format: Format | None,
    resume: bool,
    per_label: tuple[Format, ...] = ("bigwig",),
) -> Target | None:
    """Return the file to write, as `chosen_target`; None for arrays and standard output."""
    if output is not None and str(output) != STANDARD_STREAM:
        return chosen_target(output, format, per_label)
    if format not in (None, "tsv"):
        raise InputError(f"--format {format} needs --output; without it rows are written as TSV")
    if resume:
        raise InputError("--resume needs --output: without a file there is nothing to continue")
    return None


def check_same_format(path: Path, by_name: str | None, format: str | None) -> None:
    """Raise InputError if the suffix of an output and `format` name two formats."""
    if format and by_name and format != by_name:
        raise InputError(
            f"--output {path} has the suffix of {by_name}, but --format is {format}; change one of them"
        )


def file_names(label_names: Sequence[str], suffix: str) -> list[str]:
    """Return a file name for every label, unique even without upper and lower case.

    Example:
        >>> file_names(["K562|CTCF|None", "a/b", "A b"], ".bw")
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
        names.append(f"{name}{suffix}")
    return names


@contextlib.contextmanager
def label_files(target: Target, labels: Sequence[str], suffix: str) -> Iterator[list[Path]]:
    """Yield a temporary file for the only label, or one per label in a folder with a list."""
    if not target.folder:
        with atomic_path(target.path) as partial:
            yield [partial]
        return
    names = file_names(labels, suffix)
    lines = [f"{label}\t{name}\n" for label, name in zip(labels, names, strict=True)]
    with atomic_directory(target.path, FILE_PER_LABEL) as folder:
        (folder / LABEL_LIST).write_text("".join(["label\tfile\n", *lines]), encoding="utf-8")
        yield [folder / name for name in names]


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

    def inputs(self) -> dict[str, object]:
        """Return the sha256 of everything that was read, by role."""
        return {**self.checksums, **{role: sha256_of(path) for role, path in self.files.items()}}


def frame_of(windows: Sequence[Window], probabilities: NDArray[np.float32]) -> dict[str, NDArray]:
    """Return windows and their probabilities (n, L) as columns."""
    return window_columns(windows) | {"probabilities": probabilities}


def window_columns(windows: Sequence[Window]) -> dict[str, NDArray]:
    """Return the names and coordinates of windows as columns, with the names of their BED rows, if any."""
    columns = {
        "sequence": np.array([window.name.encode() for window in windows]),
        "start": np.array([window.start for window in windows], np.int64),
        "end": np.array([window.end for window in windows], np.int64),
    }
    if windows and windows[0].row_name is not None:
        columns[ROW_NAME] = np.array([window.row_name.encode() for window in windows])
    return columns


# Tables with one row per window, allele or base: lines of TSV and CSV, and predictions as such files.

COORDINATES = ("sequence", "start", "end")


class _Line:
    """A file whose `write` returns the text, as `csv.writer.writerow` then does."""

    def write(self, text: str) -> str:
        return text


_CSV = csv.writer(_Line(), lineterminator="\n")


def table_line(fields: Sequence[str], format: str) -> str:
    """Return a line of TSV or CSV; a field of CSV that has a comma or quote is quoted.

    Example:
        >>> table_line(["chr1", "a, b", "0.5"], "csv")
        'chr1,"a, b",0.5\\n'
    """
    return _CSV.writerow(fields) if format == "csv" else "\t".join(fields) + "\n"


def header_of(label_names: Sequence[str], frame: Mapping[str, NDArray]) -> list[str]:
    """Return the names of the columns: coordinates, labels, then the name of the BED row if there is one."""
    return [*COORDINATES, *label_names, *([ROW_NAME] if ROW_NAME in frame else [])]


def lines_of(frame: Mapping[str, NDArray], format: str) -> Iterator[str]:
    """Yield the rows of a frame as lines; probabilities have five significant digits."""
    values = frame["probabilities"]
    form = "%s\t%d\t%d" + "\t%.5g" * values.shape[1] + ("\t%s" if ROW_NAME in frame else "")
    names = [(name.decode(),) for name in frame[ROW_NAME].tolist()] if ROW_NAME in frame else None
    columns = (frame["sequence"], frame["start"], frame["end"], values)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (sequence, start, end, row) in enumerate(rows):
        line = form % (sequence.decode(), start, end, *row, *(names[number] if names else ()))
        yield f"{line}\n" if format == "tsv" else table_line(line.split("\t"), format)


def write_rows(path: Path, stored: PartialResults, context: WriteContext, format: str) -> None:
    """Write a table with a row per window (frames of `frame_of`)."""
    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
        header = header_of(context.label_names, next(stored.frames(), {}))
        stream.write(table_line(header, format))
        for frame in stored.frames():
            stream.writelines(lines_of(frame, format))
