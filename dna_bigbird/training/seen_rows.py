"""Rows of a labelled set, or of a benchmark, that a model has read in a training."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.seen_regions import ReadRegions
from dna_bigbird.genome.sources.assemblies import usual_assembly
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled import LabelledSet
from dna_bigbird.labelled.sequence_hashes import row_hashes
from dna_bigbird.training.seen_regions import overlapping

IN_PRETRAINING = "n_test_windows_read_in_pretraining"
IN_FINE_TUNING = "n_test_windows_read_in_fine_tuning"


@dataclass(frozen=True, eq=False)
class RowsRead:
    """Which of n rows were read by a model, as far as its bundle records it."""

    with_labels: NDArray[np.bool_]
    """(n,), shares a base with a training or validation row of a fine-tuning, or is one of the
    sequences that the bundle remembers, on either strand."""
    without_labels: NDArray[np.bool_]
    """(n,), shares a base with a region of pretraining; all False for rows without coordinates."""
    is_recorded: bool
    """Whether the bundle records what it read."""
    unknown: tuple[ReadRegions, ...] = ()
    """Trainings that read something that cannot be compared with the rows. Regions are compared with rows that
    have coordinates on the same assembly, remembered sequences with any row."""

    @property
    def is_known(self) -> bool:
        """Whether everything that was read is compared. If not, a row that is not marked may be read too."""
        return self.is_recorded and not self.unknown

    def is_known_of(self, *, pretraining: bool) -> bool:
        """Return whether everything that was read without labels, or with labels, is compared."""
        unknown = any(record.is_pretraining == pretraining for record in self.unknown)
        return self.is_recorded and not unknown


def rows_read(bundle: Bundle, labelled: LabelledSet, rows: NDArray[np.int64]) -> RowsRead:
    """Return which rows of a set were read by a model.

    A row without coordinates is compared with remembered sequences as a whole: a part of one of them is
    not recognised, and it is not compared with regions.

    Raises:
        ValueError: If the bundle remembers sequences, and the bases of a row are in the genome and the
            set was opened without it.
    """
    windows = labelled.intervals[rows] if labelled.has_coordinates else None
    return read_by(
        bundle, len(rows), windows, labelled.assembly, lambda: row_hashes(labelled, rows)
    )


def read_by(
    bundle: Bundle,
    number: int,
    windows: Windows | None,
    assembly: str,
    hashes: Callable[[], NDArray[np.uint64]] | None,
) -> RowsRead:
    """Return which of some rows were read by a model.

    Args:
        windows: Where the rows are; None for rows without coordinates.
        assembly: Of `windows`.
        hashes: Returns the `sequence_hash` of every row, (number,), called if the bundle remembers sequences;
            None for rows that are not compared with them, such as windows around variants.
    """
    with_labels, without_labels = np.zeros((2, number), dtype=bool)
    records = bundle.config.regions_read
    located_on = None if windows is None else assembly
    comparable = [x for x in records or [] if located_on is not None and _same(x, located_on)]
    if windows is not None:
        with_labels |= overlapping([x for x in comparable if not x.is_pretraining], windows)
        without_labels |= overlapping([x for x in comparable if x.is_pretraining], windows)
    if hashes is not None and len(bundle.sequences_read):
        with_labels |= np.isin(hashes(), bundle.sequences_read)
    unknown = tuple(
        record
        for record in records or []
        if not (_is_known(record, located_on) and _is_whole(record, by_hash=hashes is not None))
    )
    return RowsRead(with_labels, without_labels, records is not None, unknown)


def counts_read(bundle: Bundle, labelled: LabelledSet, rows: NDArray[np.int64]) -> dict[str, int]:
    """Return how many test rows were read by a model, for metrics.json.

    A count is left out if what was read is unknown, or read on another assembly. Of a set without
    coordinates only the rows among the remembered sequences are counted, if there are any.

    Raises:
        ValueError: As `rows_read` does.
    """
    records = bundle.config.regions_read
    if records is None:
        return {}
    read, counts = rows_read(bundle, labelled, rows), {}
    assembly = labelled.assembly if labelled.has_coordinates else None
    fine_tunings = [x for x in records if not x.is_pretraining]
    if assembly is None:
        whole = (_is_whole(x) and _is_known(x, assembly) for x in fine_tunings)
        if len(bundle.sequences_read) and all(whole):
            counts[IN_FINE_TUNING] = int(read.with_labels.sum())
        return counts
    if all(_is_known(x, assembly) for x in records if x.is_pretraining):
        counts[IN_PRETRAINING] = int(read.without_labels.sum())
    if all(_is_known(x, assembly) for x in fine_tunings):
        counts[IN_FINE_TUNING] = int(read.with_labels.sum())
    return counts


def _same(record: ReadRegions, assembly: str) -> bool:
    return usual_assembly(record.assembly) == usual_assembly(assembly)


def _is_known(record: ReadRegions, assembly: str | None) -> bool:
    """Return True if the regions are recorded and can be compared with rows on an assembly; None: without."""
    if record.regions is None or assembly is None:
        return record.regions is not None and not record.bounds(with_validation=True)
    # Sequences without coordinates have no assembly.
    return _same(record, assembly) or (record.is_hashed and not record.bounds(with_validation=True))


def _is_whole(record: ReadRegions, *, by_hash: bool = True) -> bool:
    """Return True if no sequence without coordinates was read that is not compared.

    Args:
        by_hash: Whether the rows are compared with remembered sequences.
    """
    return (record.is_hashed and by_hash) or not record.elsewhere
