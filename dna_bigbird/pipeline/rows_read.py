"""Rows of a labelled set that a model has read in a training."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.read_regions import ReadRegions
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.sequence_hashes import row_hashes
from dna_bigbird.inputs.assemblies import usual_assembly
from dna_bigbird.pipeline.read_regions import overlaps

IN_PRETRAINING = "n_test_windows_read_in_pretraining"
IN_FINE_TUNING = "n_test_windows_read_in_fine_tuning"


@dataclass(frozen=True, eq=False)
class RowsRead:
    """Which of n rows were read by a model, as far as its bundle records it."""

    with_labels: NDArray[np.bool_]
    """(n,), shares a base with a training or validation row of a fine-tuning, or is one of the
    sequences that the bundle remembers, on either strand."""
    without_labels: NDArray[np.bool_]
    """(n,), shares a base with a region of pretraining; all False for a set without coordinates."""
    is_known: bool
    """Whether everything that the bundle read is recorded and can be compared with the rows: regions with
    rows that have coordinates on the same assembly, remembered sequences with any row. If not, a row that is
    not marked may have been read too."""


def rows_read(bundle: Bundle, labelled: LabelledSet, rows: NDArray[np.int64]) -> RowsRead:
    """Return which rows of a set were read by a model.

    A row without coordinates is compared with remembered sequences as a whole: a part of one of them is
    not recognised, and it is not compared with regions.

    Raises:
        ValueError: If the bundle remembers sequences, and the bases of a row are in the genome and the
            set was opened without it.
    """
    records = bundle.config.regions_read
    comparable = [x for x in records or [] if labelled.has_coordinates and _same(x, labelled)]
    with_labels = overlaps([x for x in comparable if not x.is_pretraining], labelled, rows)
    if len(bundle.sequences_read):
        with_labels |= np.isin(row_hashes(labelled, rows), bundle.sequences_read)
    return RowsRead(
        with_labels,
        overlaps([x for x in comparable if x.is_pretraining], labelled, rows),
        records is not None and all(_is_known(x, labelled) and _is_whole(x) for x in records),
    )


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
    fine_tunings = [x for x in records if not x.is_pretraining]
    if not labelled.has_coordinates:
        whole = (_is_whole(x) and _is_known(x, labelled) for x in fine_tunings)
        if len(bundle.sequences_read) and all(whole):
            counts[IN_FINE_TUNING] = int(read.with_labels.sum())
        return counts
    if all(_is_known(x, labelled) for x in records if x.is_pretraining):
        counts[IN_PRETRAINING] = int(read.without_labels.sum())
    if all(_is_known(x, labelled) for x in fine_tunings):
        counts[IN_FINE_TUNING] = int(read.with_labels.sum())
    return counts


def _same(record: ReadRegions, labelled: LabelledSet) -> bool:
    return usual_assembly(record.assembly) == usual_assembly(labelled.assembly)


def _is_known(record: ReadRegions, labelled: LabelledSet) -> bool:
    """Return True if the regions are recorded and can be compared with the rows of the set."""
    if record.regions is None or not labelled.has_coordinates:
        return record.regions is not None and not record.bounds(with_validation=True)
    # Sequences without coordinates have no assembly.
    return _same(record, labelled) or (record.is_hashed and not record.bounds(with_validation=True))


def _is_whole(record: ReadRegions) -> bool:
    """Return True if no sequence without coordinates was read that is not remembered."""
    return record.is_hashed or not record.elsewhere
