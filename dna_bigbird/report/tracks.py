"""Chooses the region and the labels of the genome strip, and reads their predictions and truth.

Coordinates are 0-based and half-open.
"""

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.evaluation.model_results import as_float, as_int
from dna_bigbird.genome.bed import iter_bed
from dna_bigbird.genome.coverage import merge_spans
from dna_bigbird.genome.interval import Interval, parse_region
from dna_bigbird.genome.sites.reading import read_sites
from dna_bigbird.labelled.chromatin.peak_sheet import EVERY_NAME, read_sheet

# Reads the prediction tables of `dna-bigbird predict`.
#
# They may be large, so they are read row by row and only what is drawn is kept. Coordinates are
# 0-based and half-open.


class WindowScores(NamedTuple):
    """The scores of a label: each at the middle of its window, as wide as the step between them."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    scores: NDArray[np.float64]


NO_WINDOWS = WindowScores(np.zeros(0), np.zeros(0), np.zeros(0))


def _rows(path: Path) -> Iterator[tuple[Interval, dict[str, str], int]]:
    """Yield the window, the cells and the line of each row of a prediction table."""
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


REGION_BP = 40_000
BIN_BP = 1_000
MOST_ROWS = 8
PROMOTER = "promoter"

Truth = Mapping[str, Sequence[Interval]]


@dataclass(frozen=True)
class Track:
    """One row of the strip: the truth and the predicted probability of one label."""

    label: str
    group: str
    truth: list[Interval]
    windows: WindowScores = NO_WINDOWS


@dataclass(frozen=True)
class Strip:
    """What the genome strip shows."""

    region: Interval
    tracks: list[Track]
    has_truth: bool


def read_promoters(path: Path) -> list[Interval]:
    """Read the start sites of true promoters, 1 bp each; see `genome.sites.reading.read_sites`."""
    return [site.interval for site in read_sites(path)]


def read_peak_sheet(path: Path) -> dict[str, list[Interval]]:
    """Read the peaks of every label of a sample sheet; `*` is a label per name in column 4."""
    peaks: dict[str, list[Interval]] = {}
    for row in read_sheet(path):
        for peak in iter_bed(row.path):
            name = peak.name if row.label == EVERY_NAME else row.label
            peaks.setdefault(row.prefix + name, []).append(peak.interval)
    return peaks


def choose_region(predicted: Sequence[Interval], truth: Truth) -> Interval | None:
    """Choose at most 40 kb of what is predicted, where most labels have features in the middle."""
    # Every label counts up to three of its features, so one crowded label does not decide. The predictions
    # are not used. Without any truth it is the beginning of the longest part; the first of equals is chosen.
    if not predicted:
        return None
    middles = [_middles(features) for features in truth.values()]
    best_score, best = 0.0, None
    for part in predicted:
        bins = max(1, part.length // BIN_BP)
        width = min(bins, REGION_BP // BIN_BP)
        total = np.zeros(bins - width + 1)
        for middle in (chroms[part.chrom] for chroms in middles if part.chrom in chroms):
            inside = middle[(middle >= part.start) & (middle < part.start + bins * BIN_BP)]
            counts = np.bincount((inside - part.start) // BIN_BP, minlength=bins)
            running = np.concatenate([[0], np.cumsum(counts)])
            total += np.minimum(running[width:] - running[:-width], 3)
        index = int(total.argmax())
        if total[index] > best_score:
            best_score, best = float(total[index]), _cut(part, index * BIN_BP)
    return best or _cut(max(predicted, key=lambda part: part.length), 0)


def _cut(part: Interval, offset: int) -> Interval:
    start = part.start + offset
    return Interval(part.chrom, start, min(part.end, start + REGION_BP), ".")


def _middles(features: Sequence[Interval]) -> dict[str, NDArray[np.int64]]:
    middles: dict[str, list[int]] = {}
    for x in features:
        middles.setdefault(x.chrom, []).append((x.start + x.end) // 2)
    return {chrom: np.array(values) for chrom, values in middles.items()}


def choose_labels(
    region: Interval, labels: Sequence[str], groups: Mapping[str, str], truth: Truth
) -> list[str]:
    """Choose at most eight labels in turn from every group, those with most features first."""
    count = {label: len(inside(region, truth.get(label, []))) for label in labels}
    by_group: dict[str, list[str]] = {}
    for label in sorted(labels, key=lambda x: (-count[x], labels.index(x))):
        by_group.setdefault(groups.get(label, ""), []).append(label)
    in_turn = [x for row in itertools.zip_longest(*by_group.values()) for x in row if x is not None]
    chosen = sorted(in_turn, key=lambda x: count[x] == 0)[:MOST_ROWS]
    return [label for group in by_group.values() for label in group if label in chosen]


def inside(region: Interval, features: Sequence[Interval]) -> list[Interval]:
    """Return the features that share a base with the region."""
    return [x for x in features if x.overlap(region)]


def is_within(region: Interval, text: str) -> bool:
    """Return True if a region is inside one that is written as in the configuration.

    Example:
        >>> is_within(Interval("chr22", 100, 200), "chr22:101-1,000")
        True
        >>> is_within(Interval("chr22", 99, 200), "chr22:101-1,000")
        False
        >>> is_within(Interval("chr22", 99, 200), "chr22")
        True
    """
    if ":" not in text:
        return region.chrom == text.strip()
    try:
        held_out = parse_region(text.strip())
    except ValueError:
        return False
    return held_out.overlap(region) == region.length


def build_strip(
    predictions: Mapping[str, Path],
    promoters: list[Interval] | None,
    peaks: dict[str, list[Interval]] | None,
    groups: Mapping[str, str],
) -> Strip | None:
    """Read predicted and true tracks of one region; None if nothing was predicted."""
    parts = [part for part in map(covered, predictions.values()) if part]
    if not parts:
        return None
    common = intersection(parts[0], parts[-1]) if len(parts) > 1 else parts[0]
    truth = dict(peaks or {}) | ({"": promoters} if promoters else {})
    region = choose_region(common or parts[-1], truth)
    tracks = []
    for head, path in predictions.items():
        if head == PROMOTER:
            labels = dict.fromkeys(predicted_labels(path), PROMOTER)
            known = dict.fromkeys(labels, promoters or [])
        else:
            labels = {label: groups.get(label, "") for label in predicted_labels(path)}
            known = {label: (peaks or {}).get(label, []) for label in labels}
        chosen = choose_labels(region, list(labels), groups, known)
        scores = read_scores(path, region, chosen)
        tracks += [
            Track(x, labels[x], inside(region, known[x]), scores.get(x, NO_WINDOWS)) for x in chosen
        ]
    return Strip(region, tracks, has_truth=promoters is not None or peaks is not None)
