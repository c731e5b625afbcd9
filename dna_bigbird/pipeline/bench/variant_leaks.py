"""Windows of variants that were read by a model, with labels or without."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.read_regions import ReadRegions
from dna_bigbird.genome import Interval
from dna_bigbird.genome.coverage import covered_bp, merge_spans
from dna_bigbird.inputs.assemblies import usual_assembly

READ_WITH_LABELS, READ_WITHOUT_LABELS = "read_with_labels", "read_without_labels"


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
    return VariantLeaks(
        overlapping(windows, [each for each in usable if not each.is_pretraining]),
        overlapping(windows, [each for each in usable if each.is_pretraining]),
        notes,
    )


def overlapping(windows: Sequence[Interval], records: Iterable[ReadRegions]) -> NDArray[np.bool_]:
    """Return which windows share a base with regions; chr22 and 22 are the same chromosome.

    Example:
        >>> regions = [ReadRegions("chromatin", "GRCh37", {"22": "101-200"})]
        >>> windows = [Interval("chr22", 50, 100), Interval("chr22", 50, 101), Interval("chr1", 50, 101)]
        >>> overlapping(windows, regions).tolist()
        [False, True, False]
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    for record in records:
        for chrom, first, last in record.bounds():
            spans.setdefault(chrom.removeprefix("chr"), []).append((first - 1, last))
    merged = {chrom: merge_spans(*zip(*pairs, strict=True)) for chrom, pairs in spans.items()}
    is_read = np.zeros(len(windows), dtype=bool)
    for index, window in enumerate(windows):
        if (of_chrom := merged.get(window.chrom.removeprefix("chr"))) is not None:
            is_read[index] = covered_bp(of_chrom, [max(0, window.start)], [window.end])[0] > 0
    return is_read
