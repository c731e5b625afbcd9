"""Bins of a genome with one label per peak file: a table of bits, one chromosome at a time."""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.genome.bed import beyond_error, iter_bed
from dna_bigbird.genome.coverage import Spans, merge_spans
from dna_bigbird.labelled.chromatin.config import DEFAULT_BACKGROUND
from dna_bigbird.labelled.chromatin.peak_sheet import PeakLabel
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.stored_sequences import PackedLabels

# Background of a chromatin set: bins without a peak, drawn next to the bins with one.
#
# Peaks of a few files cover few bins, and most of these have every label: a set of them alone has
# hardly a negative row. Bins without any peak are the missing negatives.

MOSTLY = 0.5
"""A label that is positive in a larger share of the rows has too little background."""


def draw_background(
    candidate_splits: NDArray[np.int8],
    splits: NDArray[np.int8],
    per_positive: int,
    *,
    chrom: str,
    seed: int,
) -> tuple[NDArray[np.int64], int]:
    """Draw bins without a peak for a split: rising indices, and how many are missing."""
    # A draw depends on the seed, the chromosome's name (`chr1` and `1` count as equal), the split
    # and the candidates.
    drawn, missing = [np.empty(0, dtype=np.int64)], 0
    for split in np.unique(splits).tolist():
        target = per_positive * int((splits == split).sum())
        free = np.flatnonzero(candidate_splits == split)
        missing += max(0, target - len(free))
        rng = np.random.default_rng([seed, zlib.crc32(chrom.removeprefix("chr").encode()), split])
        drawn.append(rng.choice(free, min(target, len(free)), replace=False))
    return np.sort(np.concatenate(drawn)), missing


def background_notes(data: LabelledData, per_positive: int) -> list[str]:
    """Return what a user should know of the background of a finished set."""
    notes = []
    if missing := data.counts.get("background_missing"):
        notes.append(
            f"background: {missing:,} bins fewer than asked for; there are no more bins without a peak on "
            "the chromosomes and in the splits of the peaks"
        )
    shares = data.labels.positives(np.arange(len(data))) / len(data)
    mostly = np.argsort(-shares, kind="stable")[: int((shares > MOSTLY).sum())].tolist()
    if mostly:
        shown = ", ".join(f"{data.label_names[i]} {shares[i]:.0%}" for i in mostly[:3])
        more = ", …" if len(mostly) > 3 else ""
        notes.append(
            f"{len(mostly)} of {len(shares)} labels are positive in more than half of the {len(data):,} rows "
            f"({shown}{more}): there is little background. For more bins without a peak: --background "
            f"{max(DEFAULT_BACKGROUND, per_positive + 1)}"
        )
    return notes


_NOTHING = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Bins:
    """Some bins and their labels, in the genome's order."""

    chrom: NDArray[np.int64]
    """(n,), place of the chromosome in the genome."""
    number: NDArray[np.int64]
    """(n,), the bin starts at `number * bin_bp`."""
    labels: PackedLabels
    """(n, L)."""

    @classmethod
    def joined(cls, parts: "list[Bins]", label_count: int) -> "Bins":
        """Put the bins of several chromosomes below each other; empties the list."""
        none = [np.empty(0, dtype=np.int64)]
        chrom = np.concatenate(none + [x.chrom for x in parts])
        number = np.concatenate(none + [x.number for x in parts])
        labels = [x.labels for x in parts]
        parts.clear()
        return cls(chrom, number, PackedLabels.joined(labels, label_count))


def bins_with_any(labels: list[PeakLabel], chrom: str, bin_bp: int, length_bp: int) -> NDArray:
    """Return the numbers of a chromosome's bins that have at least one of the labels, rising."""
    has_label = np.zeros(length_bp // bin_bp, dtype=bool)
    for label in labels:
        has_label[label.bins.get(chrom, _NOTHING)] = True
    return np.flatnonzero(has_label)


def label_bins(labels: list[PeakLabel], rank: int, chrom: str, numbers: NDArray[np.int64]) -> Bins:
    """Return bins of a chromosome with their labels; `rank` is its index in the genome."""
    bits = np.zeros((len(numbers), -(-len(labels) // 8)), dtype=np.uint8)
    row_of = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int32)
    row_of[numbers] = np.arange(len(numbers))
    for column, label in enumerate(labels):
        on = label.bins.get(chrom, _NOTHING)
        rows = row_of[on[on < len(row_of)]]
        bits[rows[rows >= 0], column // 8] |= np.uint8(0x80 >> column % 8)
    chroms = np.full(len(numbers), rank, dtype=np.int64)
    return Bins(chroms, numbers.astype(np.int64), PackedLabels(bits, len(labels)))


def read_blacklist(path: Path | None, genome: Genome, *, pieces: bool = False) -> dict[str, Spans]:
    """Return a BED file's merged intervals by the genome's chromosome names; no path gives none."""
    spans: dict[str, list[tuple[int, int]]] = {}
    seen: list[str] = []
    for row in iter_bed(path) if path else ():
        seen.append(row.interval.chrom)
        chrom = genome.find(row.interval.chrom)
        if chrom is None:
            continue
        if row.interval.end > genome.lengths[chrom] and not pieces:
            raise beyond_error(row, genome, chrom, str(path))
        spans.setdefault(chrom, []).append((row.interval.start, row.interval.end))
    if seen and not spans:
        raise InputError(
            f"{path}: none of its chromosomes ({', '.join(list(dict.fromkeys(seen))[:5])}) is in "
            f"{genome.path.name} (it has {', '.join(list(genome.lengths)[:5])})"
        )
    return {chrom: merge_spans(*zip(*rows, strict=True)) for chrom, rows in spans.items()}
