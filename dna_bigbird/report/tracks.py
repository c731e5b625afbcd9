"""Predicted and true tracks over one region, read from the prediction tables and BED files.

Coordinates are 0-based and half-open, as in the files. Prediction tables may be large: they are
read twice in one pass each, and only the region's rows and the wanted columns are kept.
"""

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dna_bigbird.errors import InputError
from dna_bigbird.files import open_text
from dna_bigbird.report.run_results import merge

REGION_BP = 40_000
BIN_BP = 1_000
MOST_ROWS = 8
EPD_SPAN_BP = 60
EVERY_NAME = "*"
PROMOTER = "promoter"

Spans = dict[str, list[tuple[int, int]]]


@dataclass(frozen=True)
class Region:
    """The part of a sequence that is drawn."""

    chrom: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.chrom}:{self.start + 1:,}-{self.end:,}"


@dataclass(frozen=True)
class Feature:
    """One true interval; `strand` is '.' where it has none."""

    chrom: str
    start: int
    end: int
    strand: str = "."
    name: str = ""


@dataclass
class Track:
    """One row of the picture: the truth and the predicted probability of one label.

    `starts`, `ends` and `scores` are the predicted windows as they are drawn: each score stands at
    the middle of its window, as wide as the step between windows.
    """

    label: str
    group: str
    truth: list[Feature]
    starts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    ends: np.ndarray = field(default_factory=lambda: np.zeros(0))
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Strip:
    """What the genome strip shows."""

    region: Region
    tracks: list[Track]
    has_truth: bool


def read_features(path: Path) -> list[Feature]:
    """Read the intervals of a BED file, plain or gzip; EPD's 60-bp rows become their start site.

    Raises:
        InputError: If a line is not BED.
    """
    features = []
    with open_text(path) as stream:
        for line_number, line in enumerate(stream, start=1):
            if not line.strip() or line.startswith(("#", "track", "browser")):
                continue
            fields = line.rstrip("\n").split("\t")
            try:
                start, end = int(fields[1]), int(fields[2])
            except (IndexError, ValueError):
                raise InputError(
                    f"{path}:{line_number}: expected BED: chromosome, start, end separated by tabs"
                ) from None
            strand = fields[5] if len(fields) > 5 else "."
            if end - start == EPD_SPAN_BP and len(fields) > 7 and fields[6].isdigit():
                start = int(fields[6]) if strand != "-" else int(fields[7]) - 1
                end = start + 1
            name = fields[3] if len(fields) > 3 else ""
            features.append(Feature(fields[0], start, end, strand, name))
    return features


def read_peak_sheet(path: Path) -> dict[str, list[Feature]]:
    """Read the peaks of every label named in a sample sheet, as `datasets/peak_sheet.py` does.

    Its columns are label, path and perhaps prefix. A path is taken from the sheet's folder. The
    label `*` makes one label of each name in column 4 of its file.

    Raises:
        InputError: If the sheet lacks a column or one of its files is missing.
    """
    with open_text(path) as stream:
        lines = [line for line in stream if line.strip() and not line.startswith("#")]
    reader = csv.DictReader(lines, delimiter="\t")
    missing = [c for c in ("label", "path") if c not in (reader.fieldnames or [])]
    if missing:
        raise InputError(
            f"{path}:1: no column {missing[0]!r}; expected the tab-separated columns label, group, "
            "cell, path of a sheet for chromatin-set"
        )
    peaks: dict[str, list[Feature]] = {}
    for row in reader:
        prefix = row.get("prefix") or ""
        for feature in read_features(path.parent / row["path"]):
            name = feature.name if row["label"] == EVERY_NAME else row["label"]
            peaks.setdefault(prefix + name, []).append(feature)
    return peaks


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a prediction table.

    Raises:
        InputError: If it does not begin with sequence, start, end.
    """
    with open_text(path) as stream:
        reader = csv.DictReader(stream, delimiter="\t")
        if (reader.fieldnames or [])[:3] != ["sequence", "start", "end"]:
            raise InputError(
                f"{path}:1: expected the columns sequence, start, end and the labels. "
                "Run the rule predict again"
            )
        yield from reader


def predicted_labels(path: Path) -> list[str]:
    """Return the label columns of a prediction table."""
    with open_text(path) as stream:
        return stream.readline().rstrip("\n").split("\t")[3:]


def covered(path: Path) -> Spans:
    """Return the merged parts of each sequence that a prediction table covers."""
    spans: Spans = {}
    for chrom, rows in itertools.groupby(read_rows(path), key=lambda row: row["sequence"]):
        spans.setdefault(chrom, []).extend(merge([(int(r["start"]), int(r["end"])) for r in rows]))
    return {chrom: merge(found) for chrom, found in spans.items()}


def intersect(one: Spans, other: Spans) -> Spans:
    """Return what both cover.

    Example:
        >>> intersect({"a": [(0, 5), (8, 12)]}, {"a": [(3, 10)], "b": [(0, 1)]})
        {'a': [(3, 5), (8, 10)]}
    """
    both: Spans = {}
    for chrom in one:
        for (a, b), (c, d) in itertools.product(one[chrom], other.get(chrom, [])):
            if max(a, c) < min(b, d):
                both.setdefault(chrom, []).append((max(a, c), min(b, d)))
    return both


def choose_region(spans: Spans, truth: dict[str, list[Feature]]) -> Region | None:
    """Choose at most 40 kb of what is predicted, where the truth is richest.

    Rich means many labels with features whose middle lies inside: every label counts up to three
    of its features, so one crowded label does not decide. The predictions have no say. Without
    any truth it is the beginning of the longest part. Ties go to the first.
    """
    runs = [(chrom, a, b) for chrom in spans for a, b in spans[chrom]]
    if not runs:
        return None
    middles = [_middles(features) for features in truth.values()]
    best_score, best = 0.0, None
    for chrom, a, b in runs:
        bins = max(1, (b - a) // BIN_BP)
        width = min(bins, REGION_BP // BIN_BP)
        total = np.zeros(bins - width + 1)
        for middle in (by_chrom[chrom] for by_chrom in middles if chrom in by_chrom):
            inside = middle[(middle >= a) & (middle < a + bins * BIN_BP)]
            counts = np.bincount((inside - a) // BIN_BP, minlength=bins)
            running = np.concatenate([[0], np.cumsum(counts)])
            total += np.minimum(running[width:] - running[:-width], 3)
        at = int(total.argmax())
        if total[at] > best_score:
            start = a + at * BIN_BP
            best_score, best = float(total[at]), Region(chrom, start, min(b, start + REGION_BP))
    if best is None:
        chrom, a, b = max(runs, key=lambda run: run[2] - run[1])
        return Region(chrom, a, min(b, a + REGION_BP))
    return best


def _middles(features: list[Feature]) -> dict[str, np.ndarray]:
    found: dict[str, list[int]] = {}
    for f in features:
        found.setdefault(f.chrom, []).append((f.start + f.end) // 2)
    return {chrom: np.array(values) for chrom, values in found.items()}


def choose_labels(
    region: Region, labels: list[str], groups: dict[str, str], truth: dict[str, list[Feature]]
) -> list[str]:
    """Choose at most eight labels with truth in the region, in turn from every group.

    Within a group the label with more features comes first. Labels without truth fill up.
    """
    count = {label: len(inside(region, truth.get(label, []))) for label in labels}
    by_group: dict[str, list[str]] = {}
    for label in sorted(labels, key=lambda x: (-count[x], labels.index(x))):
        by_group.setdefault(groups.get(label, ""), []).append(label)
    in_turn = [x for row in itertools.zip_longest(*by_group.values()) for x in row if x is not None]
    chosen = sorted(in_turn, key=lambda x: count[x] == 0)[:MOST_ROWS]
    return [label for group in by_group.values() for label in group if label in chosen]


def inside(region: Region, features: list[Feature]) -> list[Feature]:
    """Return the features that touch the region."""
    return [
        f
        for f in features
        if f.chrom == region.chrom and f.start < region.end and f.end > region.start
    ]


def read_scores(path: Path, region: Region, labels: list[str]) -> dict[str, tuple[np.ndarray, ...]]:
    """Return (starts, ends, scores) of each label as drawn inside the region."""
    windows, values = [], []
    for row in read_rows(path):
        start, end = int(row["start"]), int(row["end"])
        if row["sequence"] == region.chrom and start < region.end and end > region.start:
            windows.append((start, end))
            values.append([float(row[label]) for label in labels])
    if not windows:
        return {}
    order = np.argsort([start for start, _ in windows], kind="stable")
    window = np.array(windows)[order]
    score = np.array(values).reshape(len(windows), len(labels))[order]
    steps = np.diff(window[:, 0])
    step = float(np.median(steps[steps > 0])) if (steps > 0).any() else np.inf
    half = np.minimum(window[:, 1] - window[:, 0], step) / 2
    middle = window.mean(axis=1)
    return {x: (middle - half, middle + half, score[:, i]) for i, x in enumerate(labels)}


def lies_inside(region: Region, text: str) -> bool:
    """Tell whether a region lies in one written as in the configuration (from 1, ends included).

    Example:
        >>> lies_inside(Region("chr22", 100, 200), "chr22:101-1,000")
        True
        >>> lies_inside(Region("chr22", 99, 200), "chr22:101-1,000")
        False
        >>> lies_inside(Region("chr22", 99, 200), "chr22")
        True
    """
    chrom, colon, span = text.strip().rpartition(":")
    if not colon:
        return region.chrom == text.strip()
    start, _, end = span.replace(",", "").partition("-")
    if not (start.isdigit() and end.isdigit()):
        return False
    return region.chrom == chrom and int(start) - 1 <= region.start and region.end <= int(end)


def build_strip(
    predictions: dict[str, Path],
    promoters: list[Feature] | None,
    peaks: dict[str, list[Feature]] | None,
    groups: dict[str, str],
) -> Strip | None:
    """Put predicted and true tracks of one region together; None if nothing was predicted.

    Args:
        predictions: Prediction table of each head that has one: `promoter`, `chromatin`.
        promoters: True promoters (start sites), or None if not given.
        peaks: True peaks of each chromatin label, or None.
        groups: Group of each chromatin label.
    """
    spans = {head: covered(path) for head, path in predictions.items()}
    spans = {head: found for head, found in spans.items() if found}
    if not spans:
        return None
    parts = list(spans.values())
    common = intersect(parts[0], parts[-1]) if len(parts) > 1 else parts[0]
    truth = dict(peaks or {}) | ({"": promoters} if promoters else {})
    region = choose_region(common or parts[-1], truth)
    if region is None:
        return None
    tracks = []
    for head, path in predictions.items():
        labels = predicted_labels(path)
        found = {label: (peaks or {}).get(label, []) for label in labels}
        if head == PROMOTER:
            found = {label: promoters or [] for label in labels}
        chosen = choose_labels(region, labels, groups, found)
        scores = read_scores(path, region, chosen)
        for label in chosen:
            group = PROMOTER if head == PROMOTER else groups.get(label, "")
            track = Track(label, group, inside(region, found[label]))
            if label in scores:
                track.starts, track.ends, track.scores = scores[label]
            tracks.append(track)
    return Strip(region, tracks, has_truth=promoters is not None or peaks is not None)
