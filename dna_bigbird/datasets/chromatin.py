"""Chromatin sets: 200-bp bins with one label per peak file, and the windows around them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.datasets.labelled import LabelledData
from dna_bigbird.datasets.peak_sheet import PeakLabel
from dna_bigbird.datasets.splits import SPLITS, STRADDLING, SplitConfig
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import bins_mostly_covered, covered_bp, runs_of_n


@dataclass(frozen=True)
class ChromatinConfig:
    """Which bins become rows, and what is read around them."""

    window: int = 8000
    """Bases the model reads, centred on the bin."""
    bin: int = 200
    """Bases of a bin; bins start at multiples of this, counted from 0."""
    require_group: str = "TF"
    """Keep bins with at least one label of this group; `none`: with any label."""
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


@dataclass(frozen=True)
class Bins:
    """Bins with at least one label, in the genome's order."""

    chrom: NDArray[np.int64]
    """(n,), place of the chromosome in the genome."""
    number: NDArray[np.int64]
    """(n,), the bin starts at `number * bin_bp`."""
    labels: NDArray[np.uint8]
    """(n, L)."""

    def keep(self, rows: NDArray[np.bool_], labels: NDArray[np.bool_] | None = None) -> "Bins":
        """Return some of the bins, with some of the labels."""
        values = self.labels[rows] if labels is None else self.labels[rows][:, labels]
        return Bins(self.chrom[rows], self.number[rows], values)


def build_bins(genome: Genome, labels: list[PeakLabel], bin_bp: int = 200) -> Bins:
    """Return every bin that the merged peaks of some label cover by more than half."""
    chroms, numbers, values = [], [], []
    for rank, (chrom, length) in enumerate(genome.lengths.items()):
        on = [
            bins_mostly_covered(x.spans[chrom], bin_bp, length) if chrom in x.spans else _NOTHING
            for x in labels
        ]
        bins = np.unique(np.concatenate([_NOTHING, *on]))
        table = np.zeros((len(bins), len(labels)), dtype=np.uint8)
        for column, numbers_on in enumerate(on):
            table[np.searchsorted(bins, numbers_on), column] = 1
        chroms.append(np.full(len(bins), rank, dtype=np.int64))
        numbers.append(bins)
        values.append(table)
    return Bins(np.concatenate(chroms), np.concatenate(numbers), np.concatenate(values))


_NOTHING = np.empty(0, dtype=np.int64)


def build_chromatin(
    genome: Genome,
    labels: list[PeakLabel],
    config: ChromatinConfig,
    split: SplitConfig,
    *,
    counts: dict[str, int] | None = None,
    warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> LabelledData:
    """Build the rows of a chromatin set.

    Bins with a label are found first; labels with too few bins go, then bins without a label of
    the required group. A window that runs past its chromosome, holds too many N, or shares
    bases with two splits is left out and counted.

    Args:
        counts: Counts of what was read, to which those of this function are added.

    Raises:
        InputError: If there is no label of the required group, a label has no positive in the
            training split (unless allowed), or nothing is left for training.
    """
    counts = dict(counts or {})
    bins = build_bins(genome, labels, config.bin)
    counts |= {"labels_read": len(labels), "bins_with_a_label": len(bins.number)}
    if not config.allow_empty_labels and not config.min_positive:
        _refuse_empty(
            labels, bins.labels.sum(axis=0), f"no {config.bin}-bp bin is covered by more than half"
        )

    enough = bins.labels.sum(axis=0) >= config.min_positive
    counts["left_out_rare_labels"] = int((~enough).sum())
    labels = [x for x, keep in zip(labels, enough, strict=True) if keep]
    bins = bins.keep(np.ones(len(bins.number), dtype=bool), enough)
    required = _required(labels, config.require_group)
    has_event = bins.labels[:, required].any(axis=1)
    counts["left_out_bin_without_required_label"] = int((~has_event).sum())
    bins = bins.keep(has_event)

    splits = _place_windows(genome, bins, config, split, counts)
    bins, splits = bins.keep(splits >= 0), splits[splits >= 0]
    for number, name in enumerate(SPLITS):
        counts[f"rows_{name}"] = int((splits == number).sum())
    if not counts["rows_train"]:
        raise InputError(
            "no bin is left for training: "
            + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in counts.items() if v)
        )
    positives = bins.labels[splits == 0].sum(axis=0)
    if not config.allow_empty_labels:
        _refuse_empty(labels, positives, "no row of the training split has it")
    elif (positives == 0).any():
        empty = [x.name for x, n in zip(labels, positives, strict=True) if not n]
        warn(f"warning: no positive in the training split: {', '.join(empty)}")
    return _as_rows(genome, labels, bins, splits, config, counts)


def _refuse_empty(labels: list[PeakLabel], positives: NDArray, reason: str) -> None:
    for label, count in zip(labels, positives.tolist(), strict=True):
        if not count:
            raise InputError(
                f"{label.path}: label {label.name!r} has no positive: {reason}. Leave it out of "
                "the sheet, raise --min_positive, or keep it: --allow_empty_labels true"
            )


def _required(labels: list[PeakLabel], group: str) -> NDArray[np.bool_]:
    """Return which labels make a bin worth keeping."""
    if not labels:
        raise InputError("no label has enough bins; lower --min_positive")
    required = np.array([group in ("none", x.group) for x in labels])
    if not required.any():
        there = ", ".join(sorted({x.group for x in labels}))
        raise InputError(
            f"--require_group {group}: no label is of this group; the groups are {there}, "
            "and `none` keeps bins with any label"
        )
    return required


def _place_windows(
    genome: Genome, bins: Bins, config: ChromatinConfig, split: SplitConfig, counts: dict[str, int]
) -> NDArray[np.int64]:
    """Return the split of every bin's window, or -1 if it is left out."""
    splits = np.full(len(bins.number), STRADDLING, dtype=np.int64)
    past = with_n = straddling = 0
    for rank, (chrom, length) in enumerate(genome.lengths.items()):
        here = np.flatnonzero(bins.chrom == rank)
        if not len(here):
            continue
        starts = bins.number[here] * config.bin - (config.window - config.bin) // 2
        ends = starts + config.window
        inside = (starts >= 0) & (ends <= length)
        gaps = runs_of_n(genome.fetch(Interval(chrom, 0, length)))
        few_n = covered_bp(gaps, starts, ends) <= config.max_n_fraction * config.window
        found = split.splits_of(chrom, starts, ends)
        past += int((~inside).sum())
        with_n += int((inside & ~few_n).sum())
        straddling += int((inside & few_n & (found == STRADDLING)).sum())
        splits[here] = np.where(inside & few_n, found, STRADDLING)
    counts["left_out_window_past_the_end"] = past
    counts["left_out_window_with_n"] = with_n
    counts["left_out_window_across_splits"] = straddling
    return splits


def _as_rows(
    genome: Genome,
    labels: list[PeakLabel],
    bins: Bins,
    splits: NDArray[np.int64],
    config: ChromatinConfig,
    counts: dict[str, int],
) -> LabelledData:
    chroms = list(genome.lengths)
    bin_starts = bins.number * config.bin
    starts = bin_starts - (config.window - config.bin) // 2
    return LabelledData(
        task="chromatin",
        window_bp=config.window,
        label_names=[x.name for x in labels],
        label_groups=[x.group for x in labels],
        intervals=[
            Interval(chroms[c], s, s + config.window)
            for c, s in zip(bins.chrom.tolist(), starts.tolist(), strict=True)
        ],
        names=[""] * len(starts),
        labels=bins.labels,
        split=splits.astype(np.uint8),
        bin_starts=bin_starts,
        bin_bp=config.bin,
        counts=counts,
    )
