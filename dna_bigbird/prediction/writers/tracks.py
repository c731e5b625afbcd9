"""One value per base, the mean of the windows that cover it, as BED and bigWig."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.prediction.partial_results_file import PartialResults, StoredColumn
from dna_bigbird.prediction.writers.target import (
    Target,
    WriteContext,
    label_files,
)

# N windows, S segments, L labels


BLOCK_VALUES = 2**21
"""Probabilities in memory at once, about; more where many windows overlap."""

HEADER = "#chrom\tstart\tend\tname\tscore\tstrand\tprobability\n"
HIGHEST = 1000
"""BED's scores are whole numbers up to this."""


@dataclass(frozen=True)
class Placement:
    """The windows that have scores, in order of chromosome name and start; 28 bytes each."""

    chromosomes: list[str]
    """Sorted by bytes, as by `sort -k1,1` and UCSC's tools."""
    chrom: NDArray[np.int32]
    """(N,), indices in `chromosomes`."""
    start: NDArray[np.int64]
    """(N,), 0-based."""
    end: NDArray[np.int64]
    """(N,), not included."""
    row: NDArray[np.int64]
    """(N,), row of the partial results."""


@dataclass(frozen=True)
class Segments:
    """Stretches of one chromosome whose bases have the same probabilities; none overlap."""

    chrom: str
    start: NDArray[np.int64]
    """(S,), 0-based, rising."""
    end: NDArray[np.int64]
    """(S,), not included."""
    values: NDArray[np.float32]
    """(S, L)."""


def place_windows(
    stored: PartialResults, margin_bp: int = 0, column: str = "probabilities"
) -> Placement:
    """Read the positions of windows with a score, without `margin_bp` bases at either end."""
    codes: dict[bytes, int] = {}
    parts = []
    first = 0
    for frame in stored.frames():
        names, inverse = np.unique(frame["sequence"], return_inverse=True)
        of_names = np.array([codes.setdefault(name, len(codes)) for name in names.tolist()])
        start, end = frame["start"] + margin_bp, frame["end"] - margin_bp
        values = frame[column].reshape(len(start), -1)
        has_score = ~np.isnan(values).all(axis=1)
        scored = np.flatnonzero(has_score & (start < end))
        parts.append(
            (
                of_names[inverse][scored].astype(np.int32),
                start[scored],
                end[scored],
                scored + first,
            )
        )
        first += len(inverse)
    if not parts:
        nothing = np.empty(0, np.int64)
        return Placement([], nothing.astype(np.int32), nothing, nothing, nothing)
    chrom, start, end, row = (np.concatenate(column) for column in zip(*parts, strict=True))
    names = sorted(codes)
    rank = np.empty(len(codes), np.int32)
    rank[[codes[name] for name in names]] = np.arange(len(codes))
    chrom = rank[chrom]
    order = np.lexsort((row, end, start, chrom))
    return Placement(
        [name.decode() for name in names], chrom[order], start[order], end[order], row[order]
    )


def segments_of(
    placement: Placement,
    probabilities: StoredColumn,
    labels: slice = slice(None),
    block_values: int = BLOCK_VALUES,
) -> Iterator[Segments]:
    """Yield the stretches between edges of windows, in order, with means over their windows."""
    chosen = len(range(*labels.indices(probabilities.shape[1])))
    block = max(1, block_values // chosen)
    edges = np.searchsorted(placement.chrom, np.arange(len(placement.chromosomes) + 1))
    for code, name in enumerate(placement.chromosomes):
        first, last = edges[code], edges[code + 1]
        start, end = np.empty((2, 0), np.int64)
        values_NL = np.empty((0, chosen))
        for i in range(first, last, block):
            j = min(i + block, last)
            start = np.concatenate([start, placement.start[i:j]])
            end = np.concatenate([end, placement.end[i:j]])
            read_NL = probabilities.read(placement.row[i:j])[:, labels]
            values_NL = np.concatenate([values_NL, read_NL.astype(np.float64)])
            # What lies before the next window can change no more; the rest is carried over.
            limit = placement.start[j] if j < last else np.iinfo(np.int64).max
            segments = _averaged(name, start, np.minimum(end, limit), values_NL)
            if len(segments.start):
                yield segments
            over = end > limit
            start, end, values_NL = np.maximum(start, limit)[over], end[over], values_NL[over]


SegmentsOf = Callable[[Placement, StoredColumn, slice], Iterator[Segments]]


def base_segments_of(
    placement: Placement, effects: StoredColumn, labels: slice = slice(None)
) -> Iterator[Segments]:
    """Yield every covered base, in order, with the mean (in float64) over its windows."""
    num_labels = len(range(*labels.indices(effects.shape[2])))
    edges = np.searchsorted(placement.chrom, np.arange(len(placement.chromosomes) + 1))
    for code, name in enumerate(placement.chromosomes):
        held, held_from = np.zeros((0, num_labels + 1)), 0  # sums, and how many windows
        for i in range(edges[code], edges[code + 1]):
            start, end = int(placement.start[i]), int(placement.end[i])
            until = min(start - held_from, len(held))  # no later window covers these
            if until > 0:
                yield from _means(name, held_from, held[:until])
            held = held[max(until, 0) :] if start > held_from else held
            held_from = start
            if (more := end - start - len(held)) > 0:
                held = np.concatenate([held, np.zeros((more, num_labels + 1))])
            values_WL = effects.read(placement.row[i : i + 1])[0, : end - start, labels]
            held[: end - start, :-1] += values_WL
            held[: end - start, -1] += 1
        yield from _means(name, held_from, held)


def _means(name: str, start: int, held: NDArray[np.float64]) -> Iterator[Segments]:
    positions = start + np.arange(len(held), dtype=np.int64)
    if len(held):
        means_SL = held[:, :-1] / held[:, -1:]
        yield Segments(name, positions, positions + 1, means_SL.astype(np.float32))


def _averaged(
    name: str, start: NDArray[np.int64], end: NDArray[np.int64], values_NL: NDArray[np.float64]
) -> Segments:
    edges = np.unique(np.concatenate([start, end]))
    first, last = np.searchsorted(edges, start), np.searchsorted(edges, end)
    sums_SL = np.zeros((len(edges) - 1, values_NL.shape[1]))
    for begin, stop, value_L in zip(first.tolist(), last.tolist(), values_NL, strict=True):
        sums_SL[begin:stop] += value_L
    begins, stops = (np.bincount(edge, minlength=len(edges)) for edge in (first, last))
    times_S = np.cumsum(begins - stops)[:-1]
    covered = times_S > 0
    means_SL = sums_SL[covered] / times_S[covered, None]
    return Segments(name, edges[:-1][covered], edges[1:][covered], means_SL.astype(np.float32))


def write_bed(path: Path, stored: PartialResults, context: WriteContext) -> None:
    """Write the file, sorted by chromosome name and start."""
    placement = place_windows(stored, context.margin_bp)
    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
        stream.write(HEADER)
        if len(placement.row):
            for segments in segments_of(placement, stored.column("probabilities")):
                stream.writelines(lines_of(segments, context.label_names))


def lines_of(segments: Segments, label_names: list[str]) -> Iterator[str]:
    """Yield the lines of some stretches, label after label within each."""
    scores = np.rint(segments.values * HIGHEST).astype(int).tolist()
    values = segments.values.tolist()
    for start, end, score, value in zip(
        segments.start.tolist(), segments.end.tolist(), scores, values, strict=True
    ):
        interval = f"{segments.chrom}\t{start}\t{end}\t"
        for name, rounded, exact in zip(label_names, score, value, strict=True):
            yield f"{interval}{name}\t{rounded}\t.\t{exact:.5g}\n"


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


def write_bigwig(
    target: Target, stored: PartialResults, context: WriteContext, values: Values = PROBABILITIES
) -> None:
    """Write a file of the only label, or a folder with a file per label and a list of them."""
    placement = place_windows(stored, context.margin_bp, values.column)
    if not len(placement.row):
        raise InputError(f"{target.path}: no window has a score; a bigWig file cannot be empty")
    with label_files(target, context.label_names, ".bw") as files:
        for first in range(0, len(files), LABELS_AT_ONCE):
            paths = files[first : first + LABELS_AT_ONCE]
            _write_labels(paths, first, stored, context, placement, values)


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
