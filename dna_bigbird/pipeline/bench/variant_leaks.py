"""Variants whose windows were read by a model, with labels or without."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.read_regions import ReadRegions
from dna_bigbird.datasets.windows import Windows
from dna_bigbird.evaluation.task_results import READ_WITH_LABELS, READ_WITHOUT_LABELS
from dna_bigbird.genome import Interval
from dna_bigbird.inputs.assemblies import usual_assembly
from dna_bigbird.pipeline.read_regions import overlapping


@dataclass(frozen=True)
class VariantLeaks:
    """Which windows share a base with what a model has read."""

    with_labels: NDArray[np.bool_]
    """(N,), in a fine-tuning: these are left out of the leak-free score."""
    without_labels: NDArray[np.bool_]
    """(N,), in pretraining: these are only counted."""
    notes: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """How many variants there are of either type."""
        return {
            READ_WITH_LABELS: int(self.with_labels.sum()),
            READ_WITHOUT_LABELS: int(self.without_labels.sum()),
        }


def find_leaks(config: BundleConfig, windows: Sequence[Interval], assembly: str) -> VariantLeaks:
    """Return which windows overlap regions that a bundle records as read."""
    records = config.regions_read or []
    notes = []
    if config.regions_read is None:
        notes.append("the bundle does not record what it has read: nothing is left out as read")
    usable: list[ReadRegions] = []
    for record in records:
        if record.regions is None or record.elsewhere:
            notes.append(
                f"not checked, because it has no coordinates: what was read {record.sentence()}"
            )
        if record.regions and usual_assembly(record.assembly) != usual_assembly(assembly):
            notes.append(
                f"not checked, because the variants are on {assembly}: what was read in {record.described}, "
                f"on {record.assembly}"
            )
        elif record.regions:
            usable.append(record)
    located = Windows.of(windows)
    return VariantLeaks(
        overlapping([x for x in usable if not x.is_pretraining], located),
        overlapping([x for x in usable if x.is_pretraining], located),
        notes,
    )
