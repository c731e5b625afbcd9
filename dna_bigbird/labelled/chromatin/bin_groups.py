"""Rows of a chromatin set that one window predicts at once: a greedy cover of the training rows."""

# N rows, W windows, P bins that a window predicts

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError

if TYPE_CHECKING:
    from dna_bigbird.labelled.labelled_set import LabelledSet

CENTRAL_SHARE = 0.5
"""Share of a window, in its middle, whose bins it predicts: each has a quarter of the window on either side."""


@dataclass(frozen=True, eq=False)
class BinGroups:
    """Windows, and the rows of a labelled set that each of them predicts."""

    # `bins` has the number of each row's bin in its window: 0 is the centre, negative before it.
    # `offsets`, (W + 1,), is where the rows of each window begin.

    centres: NDArray[np.int64]
    rows: NDArray[np.int64]
    bins: NDArray[np.int64]
    offsets: NDArray[np.int64]
    labels: object

    @classmethod
    def of(cls, labelled: "LabelledSet", rows: NDArray[np.int64]) -> Self:
        """Return the windows that cover some rows of one split; a row may belong to two windows."""
        # The windows are those of the rows, so they share no base with another split than the rows'
        # own windows do. The first row that is not covered gets the window of the last row whose
        # central part still reaches it.
        bin_bp, window_bp = labelled.bin_bp, labelled.window_bp
        _check(labelled, rows)
        reach = int(CENTRAL_SHARE * window_bp / 2) // bin_bp
        if not reach:
            raise InputError(
                f"{labelled.path}: --head.bins_at_once true needs windows of at least "
                f"{round(2 * bin_bp / CENTRAL_SHARE)} bp for bins of {bin_bp}; these have {window_bp}"
            )
        chroms = labelled.intervals.chrom[rows]
        numbers = labelled.bin_starts[rows] // bin_bp
        order = np.lexsort((numbers, chroms))
        parts = [
            _cover(rows[here], labelled.bin_starts[rows[here]] // bin_bp, reach)
            for here in np.split(order, np.flatnonzero(np.diff(chroms[order])) + 1)
        ]
        centres, covered, bins, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return cls(centres, covered, bins, offsets, labelled.label_table(covered))

    def __len__(self) -> int:
        return len(self.centres)

    def of_window(self, index: int, strand: str = "+") -> tuple[NDArray, NDArray[np.int64]]:
        """Return labels (P, L) and bins (P,) of a window; on '-' those of its reverse complement."""
        here = slice(self.offsets[index], self.offsets[index + 1])
        labels = self.labels[np.arange(here.start, here.stop)]
        return labels, self.bins[here] if strand == "+" else -self.bins[here]


def _check(labelled: "LabelledSet", rows: NDArray[np.int64]) -> None:
    """Raise InputError if some rows are not bins in the middle of windows on the forward strand."""
    starts = None if labelled.bin_starts is None else labelled.bin_starts[rows]
    intervals, half_bp = labelled.intervals, (labelled.window_bp - labelled.bin_bp) // 2
    is_usual = (
        starts is not None
        and labelled.has_one_length
        and (starts % labelled.bin_bp == 0).all()
        and (starts == intervals.start[rows] + half_bp).all()
        and (intervals.strand[rows] != b"-").all()
        and not labelled.is_stored(rows).any()
    )
    if not is_usual:
        raise InputError(
            f"{labelled.path}: --head.bins_at_once true needs the bins of dna-bigbird chromatin-set: each in "
            "the middle of its window, on the forward strand of the genome"
        )


def _cover(
    rows: NDArray[np.int64], numbers: NDArray[np.int64], reach: int
) -> tuple[list[np.int64], NDArray[np.int64], NDArray[np.int64], list[int]]:
    """Cover rising bins of a chromosome: rows of windows, rows and bins predicted, how many."""
    centres, members, bins, counts, first = [], [], [], [], 0
    while first < len(rows):
        centre = int(np.searchsorted(numbers, numbers[first] + reach, side="right")) - 1
        low, high = np.searchsorted(numbers, [numbers[centre] - reach, numbers[centre] + reach + 1])
        centres.append(rows[centre])
        members.append(rows[low:high])
        bins.append(numbers[low:high] - numbers[centre])
        counts.append(int(high - low))
        first = int(high)
    return centres, np.concatenate(members), np.concatenate(bins), counts
