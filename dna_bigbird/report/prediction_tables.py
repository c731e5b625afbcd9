"""Reads the prediction tables of `dna-bigbird predict`.

They may be large, so they are read row by row and only what is drawn is kept. Coordinates are
0-based and half-open.
"""

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.evaluation.result_files import as_float, as_int
from dna_bigbird.genome.coverage import merge_spans
from dna_bigbird.genome.interval import Interval


class WindowScores(NamedTuple):
    """The scores of one label as they are drawn.

    Each score is at the middle of its window, as wide as the step between windows.
    """

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    scores: NDArray[np.float64]


NO_WINDOWS = WindowScores(np.zeros(0), np.zeros(0), np.zeros(0))


def _rows(path: Path) -> Iterator[tuple[Interval, dict[str, str], int]]:
    """Yield the window, the cells and the line of each row of a prediction table.

    Raises:
        InputError: If its first columns are not sequence, start, end, or a row is damaged.
    """
    reader = csv.DictReader((line for _, line in numbered_lines(path)), delimiter="\t")
    if (reader.fieldnames or [])[:3] != ["sequence", "start", "end"]:
        raise InputError(
            f"{path}:1: expected the columns sequence, start, end and the labels. "
            "Run the rule predict again"
        )
    for row in reader:
        line = reader.line_num
        if None in row.values():
            raise InputError(f"{path}:{line}: the line is cut off. Run the rule predict again")
        start, end = (as_int(row[name], path, line) for name in ("start", "end"))
        yield Interval(row["sequence"], start, end, "."), row, line


def predicted_labels(path: Path) -> list[str]:
    """Return the label columns of a prediction table; its last column may be the names of BED rows."""
    _, header = next(numbered_lines(path), (1, ""))
    columns = header.rstrip("\n").split("\t")[3:]
    return columns[:-1] if columns[-1:] == ["name"] else columns


def covered(path: Path) -> list[Interval]:
    """Return the merged parts of the sequences that a prediction table covers, sorted by sequence."""
    parts: dict[str, list[tuple[int, int]]] = {}
    for chrom, windows in itertools.groupby((row[0] for row in _rows(path)), key=lambda x: x.chrom):
        parts.setdefault(chrom, []).extend(_merged([(x.start, x.end) for x in windows]))
    return [Interval(chrom, *span, ".") for chrom in parts for span in _merged(parts[chrom])]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    starts, ends = merge_spans(*zip(*spans, strict=True))
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def intersection(first: list[Interval], second: list[Interval]) -> list[Interval]:
    """Return what both lists cover.

    Example:
        >>> intersection([Interval("a", 0, 5), Interval("a", 8, 12)], [Interval("a", 3, 9)])
        [Interval(chrom='a', start=3, end=5, strand='.'), Interval(chrom='a', start=8, end=9, strand='.')]
    """
    return [
        Interval(x.chrom, max(x.start, y.start), min(x.end, y.end), ".")
        for x, y in itertools.product(first, second)
        if x.overlap(y)
    ]


def read_scores(path: Path, region: Interval, labels: list[str]) -> dict[str, WindowScores]:
    """Return the scores of each label in the region; nothing if no window touches it."""
    windows, values = [], []
    for window, row, line in _rows(path):
        if window.overlap(region):
            windows.append((window.start, window.end))
            values.append([as_float(row[label], path, line) for label in labels])
    if not windows:
        return {}
    order = np.argsort([start for start, _ in windows], kind="stable")
    window = np.array(windows)[order]
    score = np.array(values).reshape(len(windows), len(labels))[order]
    steps = np.diff(window[:, 0])
    step = float(np.median(steps[steps > 0])) if (steps > 0).any() else np.inf
    half = np.minimum(window[:, 1] - window[:, 0], step) / 2
    middle = window.mean(axis=1)
    return {
        label: WindowScores(middle - half, middle + half, score[:, i])
        for i, label in enumerate(labels)
    }
