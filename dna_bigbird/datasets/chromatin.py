"""Chromatin sets: 200-bp bins with one label per peak file, and the windows around them."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.datasets.bins import Bins, bins_with_any, label_bins
from dna_bigbird.datasets.labelled_data import LabelledData
from dna_bigbird.datasets.peak_sheet import PeakLabel
from dna_bigbird.datasets.splits import SPLITS, STRADDLING, SplitConfig
from dna_bigbird.datasets.windows import Windows
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.genome.coverage import Spans, covered_bp, unknown_spans


@dataclass(frozen=True)
class ChromatinConfig:
    """Which bins become rows, and what is read around them."""

    window: int = 8000
    """Bases the model reads, centred on the bin."""
    bin: int = 200
    """Bases of a bin; bins start at multiples of this, counted from 0."""
    require_group: str = "TF"
    """Keep bins with at least one label of this group; `none`: with any label; `all`: every bin."""
    max_n_fraction: float = 0.1
    """Windows with a larger share of N are left out."""
    min_positive: int = 0
    """Labels with fewer bins than this, over all splits, are left out."""
    allow_empty_labels: bool = False
    """Keep labels without a positive in the training split, with a warning, instead of stopping."""

    def __post_init__(self) -> None:
        if self.bin < 1 or self.window < self.bin:
            raise ValueError(f"--window {self.window} is shorter than --bin {self.bin}")
        if (self.window - self.bin) % 2:
            raise ValueError(
                f"--window {self.window} cannot be centred on --bin {self.bin}: "
                "their difference is odd"
            )
        if not 0 <= self.max_n_fraction <= 1:
            raise ValueError(f"--max_n_fraction {self.max_n_fraction} is not between 0 and 1")


def build_chromatin(
    genome: Genome,
    labels: list[PeakLabel],
    config: ChromatinConfig,
    split: SplitConfig,
    *,
    blacklist: Mapping[str, Spans] | None = None,
    counts: dict[str, int] | None = None,
    warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> LabelledData:
    """Build the rows of a chromatin set.

    Labels with too few bins go first, then bins without a label of the required group and bins
    that share a base with the blacklist. A window that runs past its chromosome, holds too many
    N, or shares bases with two splits is left out and counted. One chromosome is held at a time,
    besides the rows kept, which take L / 8 bytes each.

    Args:
        labels: With their bins of `config.bin` bases.
        blacklist: Merged intervals by chromosome.
        counts: Counts of what was read, to which those of this function are added.

    Raises:
        InputError: If there is no label of the required group, a label has no positive in the
            training split (unless allowed), or nothing is left for training.
    """
    positives = np.array([x.positives for x in labels])
    if not config.allow_empty_labels and not config.min_positive:
        reason = f"no {config.bin}-bp bin is covered by more than half"
        _refuse_empty(labels, positives, reason)
    enough = positives >= config.min_positive
    counts = dict(counts or {}) | {"labels_read": len(labels)}
    counts |= dict.fromkeys(_COUNTED, 0) | {"left_out_rare_labels": int((~enough).sum())}
    labels = [x for x, keep in zip(labels, enough, strict=True) if keep]
    required = _required(labels, config.require_group)

    parts, splits = [], [np.empty(0, dtype=np.int8)]
    for rank, (chrom, length) in enumerate(genome.lengths.items()):
        there = bins_with_any(labels, chrom, config.bin, length)
        numbers = bins_with_any(required, chrom, config.bin, length)
        counts["bins_with_a_label"] += len(there)
        counts["left_out_bin_without_required_label"] += len(there) - len(numbers)
        if config.require_group == "all":
            numbers = np.arange(length // config.bin)
        if len(numbers):
            banned = (blacklist or {}).get(chrom)
            numbers = _usable(genome, chrom, numbers, banned, config, counts)
        if not split.folds:
            found = split.splits_of(chrom, *_windows(numbers, config))
            counts["left_out_window_across_splits"] += int((found == STRADDLING).sum())
            numbers, found = numbers[found != STRADDLING], found[found != STRADDLING]
            splits.append(found)
        parts.append(label_bins(labels, rank, chrom, numbers))
    bins = Bins.joined(parts, len(labels))
    starts = _windows(bins.number, config)[0]
    windows = Windows(tuple(genome.lengths), bins.chrom.astype(np.uint32), starts, config.window)
    row_splits = split.split_of_rows(windows) if split.folds else np.concatenate(splits)
    _check_rows(labels, bins, row_splits, config, counts, warn)
    return _as_rows(labels, bins, windows, row_splits, config, counts)


_COUNTED = (
    "bins_with_a_label",
    "left_out_rare_labels",
    "left_out_bin_without_required_label",
    "left_out_blacklisted_bin",
    "left_out_window_past_the_end",
    "left_out_window_with_n",
    "left_out_window_across_splits",
)


def _refuse_empty(labels: list[PeakLabel], positives: NDArray, reason: str) -> None:
    for label, count in zip(labels, positives.tolist(), strict=True):
        if not count:
            raise InputError(
                f"{label.path}: label {label.name!r} has no positive: {reason}. Leave it out of "
                "the sheet, raise --min_positive, or keep it: --allow_empty_labels true"
            )


def _required(labels: list[PeakLabel], group: str) -> list[PeakLabel]:
    """Return the labels that make a bin worth keeping."""
    if not labels:
        raise InputError("no label has enough bins; lower --min_positive")
    required = [x for x in labels if group in ("none", "all", x.group)]
    if not required:
        there = ", ".join(sorted({x.group for x in labels}))
        raise InputError(
            f"--require_group {group}: no label is of this group; the groups are {there}, "
            "`none` keeps bins with any label, `all` every bin"
        )
    return required


def _windows(
    numbers: NDArray[np.int64], config: ChromatinConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends of the windows around bins."""
    starts = numbers.astype(np.int64) * config.bin - (config.window - config.bin) // 2
    return starts, starts + config.window


def _usable(
    genome: Genome,
    chrom: str,
    numbers: NDArray[np.int64],
    blacklist: Spans | None,
    config: ChromatinConfig,
    counts: dict[str, int],
) -> NDArray[np.int64]:
    """Return the bins outside the blacklist whose window is whole and known; count the others."""

    def keep(good: NDArray[np.bool_], reason: str) -> None:
        nonlocal numbers
        counts[f"left_out_{reason}"] += int((~good).sum())
        numbers = numbers[good]

    if blacklist is not None:
        first = numbers * config.bin
        keep(covered_bp(blacklist, first, first + config.bin) == 0, "blacklisted_bin")
    starts, ends = _windows(numbers, config)
    keep((starts >= 0) & (ends <= genome.lengths[chrom]), "window_past_the_end")
    unknown = covered_bp(unknown_spans(genome, chrom), *_windows(numbers, config))
    keep(unknown <= config.max_n_fraction * config.window, "window_with_n")
    return numbers


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
        warn(f"warning: no positive in the training split: {', '.join(empty)}")


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
