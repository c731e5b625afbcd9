"""Regions that a model has read: of a token store, of a labelled set, and test rows in them."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.config import PRETRAINING, BundleConfig
from dna_bigbird.bundles.read_regions import ReadRegions
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.token_store import TokenStore
from dna_bigbird.genome.coverage import Spans, covered_bp, merge_spans
from dna_bigbird.inputs.assemblies import usual_assembly

MOST_REGIONS = 3000
"""If there are more they are joined over gaps that no held-out window overlaps."""
GAPS_BP = (0, 100, 1000, 10_000, 100_000, 1_000_000)
NO_SPANS: Spans = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def read_in_pretraining(store: TokenStore) -> ReadRegions:
    """Return the regions of all documents of a token store."""
    return ReadRegions(PRETRAINING, store.assembly, as_text(store.regions()))


def read_in_fine_tuning(labelled: LabelledSet) -> ReadRegions:
    """Return the windows of the training rows of a labelled set.

    A window as long as its chromosome is a sequence without coordinates (promoter-sequences).
    """
    train = labelled.rows("train")
    if not labelled.has_coordinates:
        elsewhere = f"{len(train):,} sequences without coordinates"
        return ReadRegions(labelled.task, labelled.assembly, {}, elsewhere)
    held_out = np.concatenate([labelled.rows("validation"), labelled.rows("test")])
    windows, alone = row_spans(labelled, train), labelled.chromosomes_of_one_window()
    number = sum(name in alone for name in windows)
    elsewhere = f"{number:,} sequences of {labelled.window_bp} bp without coordinates" * (
        number > 0
    )
    placed = {name: spans for name, spans in windows.items() if name not in alone}
    regions = as_text(placed, apart=row_spans(labelled, held_out))
    return ReadRegions(labelled.task, labelled.assembly, regions, elsewhere)


def counts_read(
    config: BundleConfig, labelled: LabelledSet, rows: NDArray[np.int64]
) -> dict[str, int]:
    """Return how many test windows share bases with regions that a model has read, for metrics.json.

    A count is left out if what was read is unknown, or read on another assembly, and if the set has no
    coordinates.
    """
    counts: dict[str, int] = {}
    if not labelled.has_coordinates:
        return counts
    records = config.regions_read or []
    for key, is_pretraining in (
        ("n_test_windows_read_in_pretraining", True),
        ("n_test_windows_read_in_fine_tuning", False),
    ):
        chosen = [record for record in records if record.is_pretraining == is_pretraining]
        if config.regions_read is not None and all(_is_known(x, labelled) for x in chosen):
            counts[key] = int(overlaps(chosen, labelled, rows).sum())
    return counts


def _is_known(record: ReadRegions, labelled: LabelledSet) -> bool:
    same = usual_assembly(record.assembly) == usual_assembly(labelled.assembly)
    return record.regions is not None and same


def row_spans(labelled: LabelledSet, rows: NDArray[np.int64]) -> dict[str, Spans]:
    """Return the merged windows of some rows by chromosome."""
    windows = labelled.intervals
    chrom, start = windows.chrom[rows], windows.start[rows].astype(np.int64)
    end = windows.end[rows].astype(np.int64)
    spans = {}
    for number in np.unique(chrom).tolist():
        here = chrom == number
        name = windows.chromosomes[number]
        spans[name] = merge_spans(np.maximum(start[here], 0), end[here])
    return spans


def as_text(
    spans: Mapping[str, Spans], apart: Mapping[str, Spans] | None = None
) -> dict[str, str] | None:
    """Return merged regions as text, joined over the shortest gaps that make them few enough.

    Args:
        apart: Windows that must not come into a region, by chromosome.

    Returns:
        None if they are too many even so: they count as unknown.

    Example:
        >>> as_text({"chr1": merge_spans([0, 90], [50, 100])})
        {'chr1': '1-50,91-100'}
    """
    for gap in GAPS_BP:
        joined = {
            chrom: _joined(each, gap, (apart or {}).get(chrom, NO_SPANS))
            for chrom, each in spans.items()
        }
        if sum(len(starts) for starts, _ in joined.values()) <= MOST_REGIONS:
            return {chrom: _written(each) for chrom, each in joined.items() if len(each[0])}
    return None


def overlaps(
    regions: Iterable[ReadRegions], labelled: LabelledSet, rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which rows of a set share a base with any of the regions."""
    windows = labelled.intervals
    is_read = np.zeros(len(rows), dtype=bool)
    for record in regions:
        spans = _spans(record)
        for number, name in enumerate(windows.chromosomes):
            if (merged := spans.get(name.removeprefix("chr"))) is not None:
                here = np.flatnonzero(windows.chrom[rows] == number)
                start, end = (x[rows[here]].astype(np.int64) for x in (windows.start, windows.end))
                is_read[here] |= covered_bp(merged, start, end) > 0
    return is_read


def _joined(spans: Spans, gap_bp: int, apart: Spans) -> Spans:
    starts, ends = spans
    if gap_bp == 0 or len(starts) < 2:
        return spans
    left, right = ends[:-1], starts[1:]
    is_gap = (right - left > gap_bp) | (covered_bp(apart, left, right) > 0)
    return starts[np.append(True, is_gap)], ends[np.append(is_gap, True)]


def _written(spans: Spans) -> str:
    pairs = zip(spans[0].tolist(), spans[1].tolist(), strict=True)
    return ",".join(f"{start + 1}-{end}" for start, end in pairs)


def _spans(record: ReadRegions) -> dict[str, Spans]:
    """Return regions by chromosome name without `chr`."""
    bounds: dict[str, list[tuple[int, int]]] = {}
    for chrom, start, end in record.bounds():
        bounds.setdefault(chrom.removeprefix("chr"), []).append((start - 1, end))
    return {chrom: merge_spans(*zip(*pairs, strict=True)) for chrom, pairs in bounds.items()}
