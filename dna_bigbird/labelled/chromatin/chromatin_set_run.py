"""The rows of a chromatin set: bins with a label or of the background, and the windows around them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.genome import Genome
from dna_bigbird.genome.coverage import Spans, covered_bp, unknown_spans
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.chromatin.bins import (
    Bins,
    bins_with_any,
    draw_background,
    label_bins,
)
from dna_bigbird.labelled.chromatin.config import ChromatinConfig
from dna_bigbird.labelled.chromatin.peak_sheet import PeakLabel
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.splits import SPLITS, STRADDLING, SplitConfig

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
    blacklist: Mapping[str, Spans] | None = None,
    with_peak: Mapping[str, NDArray[np.bool_]] | None = None,
    seed: int = 0,
    counts: dict[str, int] | None = None,
    warn: Callable[[str], None] = note,
) -> LabelledData:
    """Build the rows of a chromatin set; `counts` gets what was left out."""
    # One chromosome is held at a time, in addition to the rows kept, which take L / 8 bytes each.
    config = config.for_labels(len(labels), {label.group for label in labels})
    if config.background and with_peak is None:
        raise ValueError("background needs with_peak, the bins with a peak of any file")
    counts = dict(counts or {}) | {"labels_read": len(labels)} | dict.fromkeys(_COUNTED, 0)
    labels = _frequent_labels(labels, config, counts)
    required = _required(labels, config.require_group)

    nothing = np.empty(0, dtype=np.int64)
    parts, starts, splits = [], [nothing], [np.empty(0, dtype=np.int8)]
    for rank, (chrom, length) in enumerate(genome.lengths.items()):
        there = bins_with_any(labels, chrom, config.bin, length)
        numbers = bins_with_any(required, chrom, config.bin, length)
        counts["bins_with_a_label"] += len(there)
        counts["left_out_bin_without_required_label"] += len(there) - len(numbers)
        if config.require_group == "all":
            numbers = np.arange(length // config.bin)
        if not len(numbers):
            continue
        peaks = (with_peak or {}).get(chrom) if config.background else None
        free = nothing if peaks is None else np.flatnonzero(~peaks[: length // config.bin])
        banned = (blacklist or {}).get(chrom)
        placed = _place(genome, chrom, np.union1d(numbers, free), banned, config, split)
        kept = np.isin(placed.number, numbers)
        for reason, name in enumerate(_LEFT_OUT):
            counts[name] += int((kept & (placed.left_out == reason)).sum())
        free = ~kept & (placed.left_out < 0) & ~placed.has_n
        kept &= placed.left_out < 0
        if config.background and kept.any():
            _add_background(kept, np.flatnonzero(free), placed.split, config, chrom, seed, counts)
        starts.append(placed.start[kept])
        splits.append(placed.split[kept])
        parts.append(label_bins(labels, rank, chrom, placed.number[kept]))
    bins = Bins.joined(parts, len(labels))
    chroms = bins.chrom.astype(np.uint32)
    windows = Windows(tuple(genome.lengths), chroms, np.concatenate(starts), config.window)
    row_splits = split.split_of_rows(windows) if split.folds else np.concatenate(splits)
    _check_rows(labels, bins, row_splits, config, counts, warn)
    return _as_rows(labels, bins, windows, row_splits, config, counts)


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
    bins: Bins,
    splits: NDArray[np.int8],
    config: ChromatinConfig,
    counts: dict[str, int],
    warn: Callable[[str], None],
) -> None:
    """Count the rows of each split, and refuse a set that cannot be learnt."""
    for number, name in enumerate(SPLITS):
        counts[f"rows_{name}"] = int((splits == number).sum())
    if not counts["rows_train"]:
        raise InputError(
            "no bin is left for training: "
            + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in counts.items() if v)
        )
    positives = bins.labels.positives(np.flatnonzero(splits == 0))
    if not config.allow_empty_labels:
        _refuse_empty(labels, positives, "no row of the training split has it")
    elif (positives == 0).any():
        empty = [x.name for x, n in zip(labels, positives, strict=True) if not n]
        warn(f"no positive in the training split: {', '.join(empty)}")


def _as_rows(
    labels: list[PeakLabel],
    bins: Bins,
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
        labels=bins.labels,
        split=splits.astype(np.uint8),
        bin_starts=bins.number * config.bin,
        bin_bp=config.bin,
        counts=counts,
    )


def held_out_notes(data: LabelledData, split: SplitConfig) -> list[str]:
    """Return a note if validation or test has no row."""
    empty = [name for name in ("validation", "test") if not data.counts[f"rows_{name}"]]
    if not empty:
        return []
    regions = [region for name in empty for region in getattr(split, name)]
    advice = (
        f"no bin with a label is in {', '.join(regions)}; hold out regions that have peaks"
        if regions
        else "hold out regions or chromosomes: --split.validation chr10 --split.test chr8 chr9"
    )
    return [f"no row for {' and '.join(empty)}, which finetune and evaluate need: {advice}"]
