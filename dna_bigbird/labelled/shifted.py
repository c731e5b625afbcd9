"""Training windows moved by a random number of bases."""

from typing import Protocol

import numpy as np

from dna_bigbird.genome.interval import Interval

_SHIFT = 4
"""Part of the seed of shifts; 3 is that of drawn tokens."""


class ShiftedRows:
    """Rows of a labelled set, each moved by up to `max_shift` bases for every example.

    If every row has real bases so far on both sides, they are read from the genome. Else all rows are
    moved within themselves: bases fall out on one side, and N fill the other one. Rows of one set are never
    moved in both ways, because N next to some of them would tell labels.

    Args:
        data: A datasets.labelled.LabelledSet with its genome.
        rows: Rows that are trained on.
        max_shift: In bases, at least 1 and below the window.
        seed: Of the shifts.

    Attributes:
        from_genome: Whether bases around the windows are read.
    """

    def __init__(self, data: "Rows", rows: np.ndarray, max_shift: int, seed: int) -> None:
        self.data = data
        self.max_shift = max_shift
        self.seed = seed
        self.from_genome = has_surroundings(data, np.asarray(rows), max_shift)

    def shift(self, example: int) -> int:
        """Return by how many bases of the forward strand an example is moved."""
        rng = np.random.default_rng([self.seed, example, _SHIFT])
        return int(rng.integers(-self.max_shift, self.max_shift + 1))

    def bases(self, row: int, example: int) -> str:
        """Return the bases of a row, moved for an example, as the row's strand reads them."""
        shift = self.shift(example)
        if self.from_genome:
            window = self.data.interval(row)
            moved = Interval(window.chrom, window.start + shift, window.end + shift, window.strand)
            return self.data.genome.fetch(moved)
        return moved_within(self.data.sequence(row), shift)


class Rows(Protocol):
    """What is needed of datasets.labelled.LabelledSet."""

    def sequence(self, row: int) -> str: ...

    def interval(self, row: int) -> Interval: ...


def moved_within(bases: str, shift: int) -> str:
    """Return a sequence seen through a window that is moved to the right; N where it has no bases.

    Example:
        >>> moved_within("ACGT", 1), moved_within("ACGT", -2), moved_within("ACGT", 0)
        ('CGTN', 'NNAC', 'ACGT')
    """
    kept = bases[max(0, shift) : len(bases) + min(0, shift)]
    return kept.ljust(len(bases), "N") if shift > 0 else kept.rjust(len(bases), "N")


def has_surroundings(data, rows: np.ndarray, margin_bp: int) -> bool:
    """Return True if the windows of all rows are in the genome, with so many bases on both sides."""
    if data.genome is None or data.is_stored(rows).any():
        return False
    windows = data.intervals
    lengths = np.array([data.genome.lengths[data.genome.resolve(x)] for x in windows.chromosomes])
    starts = windows.start[rows].astype(np.int64)
    ends = starts + data.window_bp
    return bool(
        (starts >= margin_bp).all() and (ends + margin_bp <= lengths[windows.chrom[rows]]).all()
    )
