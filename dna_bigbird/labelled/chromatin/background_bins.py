"""Background of a chromatin set: bins without a peak, drawn next to the bins with one.

Peaks of a few files cover few bins, and most of these have every label: a set of them alone has
hardly a negative row. Bins without any peak are the missing negatives.
"""

import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.labelled.chromatin.config import DEFAULT_BACKGROUND
from dna_bigbird.labelled.labelled_data import LabelledData

MOSTLY = 0.5
"""A label that is positive in a larger share of the rows has too little background."""


def draw_background(
    candidates: NDArray[np.int64],
    candidate_splits: NDArray[np.int8],
    splits: NDArray[np.int8],
    per_positive: int,
    *,
    chrom: str,
    seed: int,
) -> tuple[NDArray[np.int64], int]:
    """Draw bins of a chromosome for each split in proportion to its bins with a label.

    A draw depends on the seed, the chromosome's name (`chr1` and `1` count as equal), the split and
    the candidates.

    Args:
        candidates: (c,), numbers of bins without a peak, rising.
        candidate_splits: (c,), their splits.
        splits: (n,), splits of the bins that have a label.
        per_positive: Bins wanted for each of those.

    Returns:
        Places in `candidates`, rising, and how many bins are missing because there are too few.
    """
    drawn, missing = [np.empty(0, dtype=np.int64)], 0
    for split in np.unique(splits).tolist():
        target = per_positive * int((splits == split).sum())
        free = np.flatnonzero(candidate_splits == split)
        missing += max(0, target - len(free))
        rng = np.random.default_rng([seed, zlib.crc32(chrom.removeprefix("chr").encode()), split])
        drawn.append(rng.choice(free, min(target, len(free)), replace=False))
    return np.sort(np.concatenate(drawn)), missing


def peak_free_bins(
    with_peak: Mapping[str, NDArray[np.bool_]], chrom: str, bin_bp: int, length_bp: int
) -> NDArray[np.int64]:
    """Return the whole bins of a chromosome that share no base with a peak; none if it has no peaks."""
    if chrom not in with_peak:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(~with_peak[chrom][: length_bp // bin_bp])


def background_notes(data: LabelledData, per_positive: int) -> list[str]:
    """Return what a user should know of the background of a finished set."""
    notes = []
    if missing := data.counts.get("background_missing"):
        notes.append(
            f"background: {missing:,} bins fewer than asked for; there are no more bins without a peak on "
            "the chromosomes and in the splits of the peaks"
        )
    if text := _mostly_positive(data, per_positive):
        notes.append(text)
    return notes


def _mostly_positive(data: LabelledData, per_positive: int) -> str | None:
    """Return a note if some label is positive in more than half of the rows; else None."""
    shares = data.labels.positives(np.arange(len(data))) / len(data)
    mostly = np.argsort(-shares, kind="stable")[: int((shares > MOSTLY).sum())].tolist()
    if not mostly:
        return None
    shown = ", ".join(f"{data.label_names[i]} {shares[i]:.0%}" for i in mostly[:3])
    more = ", …" if len(mostly) > 3 else ""
    return (
        f"{len(mostly)} of {len(shares)} labels are positive in more than half of the {len(data):,} rows "
        f"({shown}{more}): there is little background. For more bins without a peak: --background "
        f"{max(DEFAULT_BACKGROUND, per_positive + 1)}"
    )
