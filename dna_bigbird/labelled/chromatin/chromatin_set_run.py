"""The rows of a chromatin set: bins with a label or of the background, and the windows around them."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.genome import Genome
from dna_bigbird.genome.coverage import Spans, covered_bp, unknown_spans
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.chromatin.config import DEFAULT_BACKGROUND, ChromatinConfig
from dna_bigbird.labelled.chromatin.peak_sheet import PeakLabel, is_measured
from dna_bigbird.labelled.labelled_data import LabelledData, PackedLabels
from dna_bigbird.labelled.set_files import counts_in_words
from dna_bigbird.labelled.splits import SPLITS, STRADDLING, SplitConfig

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
    shares = data.labels.positives() / np.maximum(data.labels.measured(), 1)
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


def measured_notes(data: LabelledData) -> list[str]:
    """Return a note if labels were not measured in some rows of a finished set."""
    missing = len(data) - data.labels.measured()
    if not missing.any():
        return []
    return [
        f"{(missing > 0).sum()} of {len(missing)} labels were not measured in all rows: {missing.sum():,} of "
        f"{len(data) * len(missing):,} cells are missing values, neither positive nor negative"
    ]


_NOTHING = np.empty(0, dtype=np.int32)


def bins_with_any(labels: list[PeakLabel], chrom: str, bin_bp: int, length_bp: int) -> NDArray:
    """Return the numbers of a chromosome's bins that have at least one of the labels, rising."""
    has_label = np.zeros(length_bp // bin_bp, dtype=bool)
    for label in labels:
        has_label[label.bins.get(chrom, _NOTHING)] = True
    return np.flatnonzero(has_label)


def label_bins(labels: list[PeakLabel], chrom: str, numbers: NDArray[np.int64]) -> PackedLabels:
    """Return the labels of some bins of a chromosome."""
    bits = np.zeros((len(numbers), -(-len(labels) // 8)), dtype=np.uint8)
    row_of = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int32)
    row_of[numbers] = np.arange(len(numbers))
    for column, label in enumerate(labels):
        on = label.bins.get(chrom, _NOTHING)
        rows = row_of[on[on < len(row_of)]]
        bits[rows[rows >= 0], column // 8] |= np.uint8(0x80 >> column % 8)
    return PackedLabels(bits, len(labels))


def measured_by_any(
    labels: list[PeakLabel], chrom: str, numbers: NDArray[np.int64], bin_bp: int
) -> NDArray[np.bool_]:
    """Return in which bins of a chromosome at least one label was measured."""
    regions = {id(x.measured): x.measured for x in labels}.values()
    return np.any([is_measured(x, chrom, numbers, bin_bp) for x in regions], axis=0)


def missing_bins(
    labels: list[PeakLabel], chrom: str, numbers: NDArray[np.int64], bin_bp: int
) -> NDArray[np.uint8]:
    """Return a bit per bin and label, 1 where it was not measured; packed as `PackedLabels`."""
    missing = np.zeros((len(numbers), -(-len(labels) // 8)), dtype=np.uint8)
    for regions in {id(x.measured): x.measured for x in labels if x.measured is not None}.values():
        of_labels = np.packbits([x.measured is regions for x in labels])
        missing[~is_measured(regions, chrom, numbers, bin_bp)] |= of_labels
    return missing


_LEFT_OUT = (
    "left_out_blacklisted_bin",
    "left_out_window_past_the_end",
    "left_out_window_with_n",
    "left_out_window_across_splits",
)
"""Why a bin is left out; the first reason that holds counts."""
_COUNTED = (
    "bins_with_a_label",
    "left_out_rare_labels",
    "left_out_bin_without_required_label",
    *_LEFT_OUT,
)


@dataclass(frozen=True)
class _Placed:
    """Bins of a chromosome and the windows around them."""

    number: NDArray[np.int64]
    """(n,), rising."""
    start: NDArray[np.int64]
    """(n,), first base of the window."""
    split: NDArray[np.int8]
    """(n,), that of the window; 0 with folds, which are dealt to all rows later."""
    left_out: NDArray[np.int64]
    """(n,), place in `_LEFT_OUT` of the reason why the bin is left out; -1 if it is a row."""
    has_n: NDArray[np.bool_]
    """(n,), whether the bin itself has an N."""


def _place(
    genome: Genome,
    chrom: str,
    numbers: NDArray[np.int64],
    blacklist: Spans | None,
    config: ChromatinConfig,
    split: SplitConfig,
) -> _Placed:
    """Compute the windows around bins of a chromosome, and what keeps a bin from being a row."""
    first = numbers * config.bin
    start = first - (config.window - config.bin) // 2
    end = start + config.window
    unknown = unknown_spans(genome, chrom)
    nowhere = np.zeros(len(numbers), dtype=np.int8)
    splits = nowhere if split.folds else split.splits_of(chrom, start, end)
    banned = nowhere if blacklist is None else covered_bp(blacklist, first, first + config.bin)
    reasons = [
        banned > 0,
        (start < 0) | (end > genome.lengths[chrom]),
        covered_bp(unknown, start, end) > config.max_n_fraction * config.window,
        splits == STRADDLING,
    ]
    left_out = np.select(reasons, range(len(_LEFT_OUT)), default=-1)
    has_n = covered_bp(unknown, first, first + config.bin) > 0
    return _Placed(numbers, start, splits, left_out, has_n)


def build_chromatin(
    genome: Genome,
    labels: list[PeakLabel],
    config: ChromatinConfig,
    split: SplitConfig,
    *,
    blacklist: Mapping[str, Spans],
    with_peak: Mapping[str, NDArray[np.bool_]],
    seed: int,
    counts: dict[str, int],
) -> LabelledData:
    """Build the rows of a chromatin set; its counts begin with those of what was read."""
    # One chromosome is held at a time, in addition to the rows kept, which take L / 8 bytes each.
    counts = counts | {"labels_read": len(labels)} | dict.fromkeys(_COUNTED, 0)
    if any(x.measured is not None for x in labels):
        counts["left_out_bin_not_measured"] = 0
    labels = _frequent_labels(labels, config, counts)
    required = _required(labels, config.require_group)

    nothing = np.empty(0, dtype=np.int64)
    chroms, starts, splits = [nothing], [nothing], [np.empty(0, dtype=np.int8)]
    bins, packed = [nothing], []
    for rank, (chrom, length) in enumerate(genome.lengths.items()):
        there = bins_with_any(labels, chrom, config.bin, length)
        numbers = bins_with_any(required, chrom, config.bin, length)
        counts["bins_with_a_label"] += len(there)
        counts["left_out_bin_without_required_label"] += len(there) - len(numbers)
        if config.require_group == "all":
            numbers = np.arange(length // config.bin)
        if not len(numbers):
            continue
        peaks = with_peak.get(chrom) if config.background else None
        free = nothing if peaks is None else np.flatnonzero(~peaks[: length // config.bin])
        every = np.union1d(numbers, free)
        measured = measured_by_any(labels, chrom, every, config.bin)
        if not measured.all():
            counts["left_out_bin_not_measured"] += int(np.isin(numbers, every[~measured]).sum())
        every = every[measured]
        placed = _place(genome, chrom, every, blacklist.get(chrom), config, split)
        kept = np.isin(placed.number, numbers)
        for reason, name in enumerate(_LEFT_OUT):
            counts[name] += int((kept & (placed.left_out == reason)).sum())
        free = ~kept & (placed.left_out < 0) & ~placed.has_n
        kept &= placed.left_out < 0
        if config.background and kept.any():
            _add_background(kept, np.flatnonzero(free), placed.split, config, chrom, seed, counts)
        starts.append(placed.start[kept])
        splits.append(placed.split[kept])
        bins.append(placed.number[kept])
        chroms.append(np.full(len(bins[-1]), rank))
        missing = missing_bins(labels, chrom, bins[-1], config.bin)
        packed.append(replace(label_bins(labels, chrom, bins[-1]), missing=missing))
    bits = PackedLabels.joined(packed, len(labels))
    on = np.concatenate(chroms).astype(np.uint32)
    windows = Windows(tuple(genome.lengths), on, np.concatenate(starts), config.window)
    row_splits = split.split_of_rows(windows) if split.folds else np.concatenate(splits)
    _check_rows(labels, bits, row_splits, config, counts)
    return _as_rows(labels, bits, np.concatenate(bins), windows, row_splits, config, counts)


def _frequent_labels(
    labels: list[PeakLabel], config: ChromatinConfig, counts: dict[str, int]
) -> list[PeakLabel]:
    """Return the labels with at least `min_positive` bins; count the others."""
    positives = np.array([x.positives for x in labels])
    if not config.allow_empty_labels and not config.min_positive:
        reason = f"no {config.bin}-bp bin is covered by more than half"
        _refuse_empty(labels, positives, reason)
    enough = positives >= config.min_positive
    counts["left_out_rare_labels"] = int((~enough).sum())
    return [x for x, keep in zip(labels, enough, strict=True) if keep]


def _add_background(
    kept: NDArray[np.bool_],
    free: NDArray[np.int64],
    splits: NDArray[np.int8],
    config: ChromatinConfig,
    chrom: str,
    seed: int,
    counts: dict[str, int],
) -> None:
    """Mark some of the `free` bins of a chromosome as kept, in proportion to those that are."""
    drawn, missing = draw_background(
        splits[free], splits[kept], config.background, chrom=chrom, seed=seed
    )
    kept[free[drawn]] = True
    counts["background_bins"] = counts.get("background_bins", 0) + len(drawn)
    counts["background_missing"] = counts.get("background_missing", 0) + missing


def _refuse_empty(labels: list[PeakLabel], positives: NDArray, reason: str) -> None:
    for label, count in zip(labels, positives.tolist(), strict=True):
        if not count:
            raise InputError(
                f"{label.path}: label {label.name!r} has no positive: {reason}. Leave it out, "
                "leave out rare labels: --min_positive 20, or keep it: --allow_empty_labels true"
            )


def _required(labels: list[PeakLabel], group: str) -> list[PeakLabel]:
    """Return the labels that make a bin worth keeping."""
    if not labels:
        raise InputError("no label has enough bins; lower --min_positive")
    required = [x for x in labels if group in ("none", "all", x.group)]
    if not required:
        there = ", ".join(sorted({x.group for x in labels}))
        raise InputError(
            f"--require_group {group}: no label belongs to this group; the groups are {there}, "
            "`none` keeps bins with any label, `all` every bin"
        )
    return required


def _check_rows(
    labels: list[PeakLabel],
    bits: PackedLabels,
    splits: NDArray[np.int8],
    config: ChromatinConfig,
    counts: dict[str, int],
) -> None:
    """Count the rows of each split, and refuse a set that cannot be learnt."""
    for number, name in enumerate(SPLITS):
        counts[f"rows_{name}"] = int((splits == number).sum())
    if not counts["rows_train"]:
        raise InputError(f"no bin is left for training: {counts_in_words(counts)}")
    positives = bits.positives(np.flatnonzero(splits == 0))
    if not config.allow_empty_labels:
        _refuse_empty(labels, positives, "no row of the training split has it")
    elif (positives == 0).any():
        empty = [x.name for x, n in zip(labels, positives, strict=True) if not n]
        note(f"no positive in the training split: {', '.join(empty)}")


def _as_rows(
    labels: list[PeakLabel],
    bits: PackedLabels,
    bins: NDArray[np.int64],
    windows: Windows,
    splits: NDArray[np.int8],
    config: ChromatinConfig,
    counts: dict[str, int],
) -> LabelledData:
    return LabelledData(
        task="chromatin",
        window_bp=config.window,
        label_names=[x.name for x in labels],
        label_groups=[x.group for x in labels],
        label_cells=[x.cell for x in labels],
        intervals=windows,
        names=[],
        labels=bits,
        split=splits.astype(np.uint8),
        bin_starts=bins * config.bin,
        bin_bp=config.bin,
        counts=counts,
    )
