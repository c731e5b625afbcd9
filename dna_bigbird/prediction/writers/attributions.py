"""Effects of bases as a table, and as HDF5 files in the layout that tfmodisco-lite reads."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.hdf5 import StoreFormat, texts_of
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.prediction.writers.target import (
    ROW_NAME,
    Target,
    WriteContext,
    label_files,
    table_line,
)

# n windows, W bases of a window, L labels


ADVICE = "expected a file of: dna-bigbird attribute --output FILE.h5"
ATTRIBUTIONS = StoreFormat(
    "dna-bigbird attributions",
    "file of effects",
    again="run attribute again",
    make=ADVICE,
    has_checksums=False,
)
LETTERS = "ACGTN"
NO_BASE = 5
"""Code beyond the end of a short window; codes 0 to 4 are A C G T N."""
OF_BASES = "of_bases"
"""Column of the effects of A, C, G and T in place of a base, if tokens are single bases."""
CHUNK_BYTES = 2**20


def base_codes(texts: Sequence[str], width: int) -> NDArray[np.uint8]:
    """Return the bases of normalised texts as numbers, (n, width).

    Example:
        >>> base_codes(["ACN", "T"], 3).tolist()
        [[0, 1, 4], [3, 5, 5]]
    """
    number = np.full(256, NO_BASE, np.uint8)
    number[np.frombuffer(LETTERS.encode(), np.uint8)] = range(len(LETTERS))
    codes = np.full((len(texts), width), NO_BASE, np.uint8)
    for row, text in zip(codes, texts, strict=True):
        row[: len(text)] = number[np.frombuffer(text.encode(), np.uint8)]
    return codes


def one_hot(codes_nW: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Return (n, W, 4): 1 at A, C, G or T; N and what is beyond the end have no 1."""
    return (codes_nW[..., None] == np.arange(4)).astype(np.int8)


def table_lines(
    frame: Mapping[str, NDArray], labels: Sequence[str], format: str, with_header: bool
) -> Iterator[str]:
    """Yield a line per base of each window: sequence, pos (from 1), base, a column per label."""
    if with_header:
        yield table_line(["sequence", "pos", "base", *labels], format)
    yield from (table_line(row, format) for row in _rows_of(frame))


def _rows_of(frame: Mapping[str, NDArray]) -> Iterator[list[str]]:
    columns = (frame[name] for name in ("sequence", "start", "bases", "effects"))
    for name, start, codes_W, effects_WL in zip(*columns, strict=True):
        sequence = name.decode()
        for offset in np.flatnonzero(codes_W != NO_BASE).tolist():
            values = (f"{value:.5g}" for value in effects_WL[offset].tolist())
            yield [sequence, str(int(start) + offset + 1), LETTERS[codes_W[offset]], *values]


def base_table(path: Path, stored: PartialResults, labels: Sequence[str], format: str) -> None:
    """Write the table to a file."""
    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
        for number, frame in enumerate(stored.frames()):
            stream.writelines(table_lines(frame, labels, format, number == 0))


def write_hdf5_files(target: Target, stored: PartialResults, context: WriteContext) -> None:
    """Write a file of the only label, or a folder with a file per label and a list of them."""
    if not target.folder:
        _write_hdf5(target.path, stored, context, 0)
        return
    with label_files(target, context.label_names, ".h5") as files:
        for label, file in enumerate(files):
            _write_hdf5(file, stored, context, label)


def _write_hdf5(path: Path, stored: PartialResults, context: WriteContext, label: int) -> None:
    """Write the effects of one label; 0 beyond a window's end, and where it has no A, C, G, T."""
    first = next(stored.frames(), {})
    with ATTRIBUTIONS.create(path) as store:
        file = store.file
        store.describe(
            {
                "label": context.label_names[label],
                "has_hypothetical": OF_BASES in first,
                "assembly": context.assembly,
                "settings": json.dumps(dict(context.settings), sort_keys=True),
                "inputs": json.dumps(context.inputs(), sort_keys=True),
            }
        )
        n, W = stored.rows, first["bases"].shape[1]
        rows = max(1, CHUNK_BYTES // (16 * W))
        texts = {name for name in ("sequence", ROW_NAME) if name in first}
        widths = {name: max(x[name].dtype.itemsize for x in stored.frames()) for name in texts}
        arrays = {
            "input_seqs": ((n, W, 4), np.int8),
            "hyp_scores": ((n, W, 4), np.float32),
            "scores": ((n, W), np.float32),
            "difference": ((n,), np.float32),
            "rows/start": ((n,), np.int64),
            "rows/end": ((n,), np.int64),
            **{f"rows/{name}": ((n,), f"S{width}") for name, width in widths.items()},
        }
        datasets = {
            name: file.create_dataset(
                name,
                shape,
                dtype,
                chunks=(min(n, rows), *shape[1:]),
                compression="gzip",
                shuffle=True,
            )
            for name, (shape, dtype) in arrays.items()
        }
        begin = 0
        for frame in stored.frames():
            end = begin + len(frame["start"])
            for name, values in _values(frame, label).items():
                datasets[name][begin:end] = values
            begin = end


def _values(frame: Mapping[str, NDArray], label: int) -> dict[str, NDArray]:
    """Return what the datasets hold of some windows."""
    of_windows = one_hot(frame["bases"])
    scores_nW = np.nan_to_num(frame["effects"][..., label])
    hypothetical = (
        np.nan_to_num(frame[OF_BASES][..., label])
        if OF_BASES in frame
        else of_windows * scores_nW[..., None]
    )
    rows = {name: frame[name] for name in ("sequence", ROW_NAME, "start", "end") if name in frame}
    return {
        "input_seqs": of_windows,
        "hyp_scores": hypothetical,
        "scores": scores_nW,
        "difference": np.nan_to_num(frame["difference"][:, label]),
        **{f"rows/{name}": values for name, values in rows.items()},
    }


# Reading the HDF5 files that `attribute` writes: bases and effects of windows, for motif discovery.

# n windows, W bases of a window


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
    """Return the files that paths name; a folder stands for its .h5 files, by name."""
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
    """Return the windows of a file: so many bases in the middle of each, 0 for all."""
    with ATTRIBUTIONS.open(path) as (file, attributes):
        width = file["input_seqs"].shape[1]
        kept = min(middle_bp, width) or width
        first = (width - kept) // 2
        middle = slice(first, first + kept)
        ends = file["rows/end"][:]
        starts = file["rows/start"][:] + first
        return AttributedWindows(
            str(attributes["label"]),
            str(attributes["assembly"]),
            file["input_seqs"][:, middle].astype(np.float32),
            file["hyp_scores"][:, middle].astype(np.float32),
            texts_of(file["rows/sequence"]),
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
