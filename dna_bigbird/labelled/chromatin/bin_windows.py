"""The windows around bins: which are whole and known, and in which split they are."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.genome.coverage import Spans, covered_bp
from dna_bigbird.labelled.chromatin.config import ChromatinConfig
from dna_bigbird.labelled.splits import STRADDLING, SplitConfig


def windows_around(
    numbers: NDArray[np.int64], config: ChromatinConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and ends of the windows around bins."""
    starts = numbers.astype(np.int64) * config.bin - (config.window - config.bin) // 2
    return starts, starts + config.window


def in_one_split(
    chrom: str,
    numbers: NDArray[np.int64],
    config: ChromatinConfig,
    split: SplitConfig,
    counts: dict[str, int],
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the bins whose window is in one split, and the split of each; count the others.

    With folds all rows are dealt later, and every bin belongs to split 0 until then.
    """
    if split.folds:
        return numbers, np.zeros(len(numbers), dtype=np.int8)
    splits = split.splits_of(chrom, *windows_around(numbers, config))
    is_in_one = splits != STRADDLING
    counts["left_out_window_across_splits"] += int((~is_in_one).sum())
    return numbers[is_in_one], splits[is_in_one]


def background_candidates(
    length: int,
    numbers: NDArray[np.int64],
    blacklist: Spans | None,
    unknown: Spans,
    config: ChromatinConfig,
) -> NDArray[np.int64]:
    """Return the bins that the set would keep if they had a label, and that contain no N."""
    numbers = usable_bins(length, numbers, blacklist, unknown, config, Counter())
    first = numbers * config.bin
    return numbers[covered_bp(unknown, first, first + config.bin) == 0]


def usable_bins(
    length: int,
    numbers: NDArray[np.int64],
    blacklist: Spans | None,
    unknown: Spans,
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
    starts, ends = windows_around(numbers, config)
    keep((starts >= 0) & (ends <= length), "window_past_the_end")
    unknown_bp = covered_bp(unknown, *windows_around(numbers, config))
    keep(unknown_bp <= config.max_n_fraction * config.window, "window_with_n")
    return numbers
