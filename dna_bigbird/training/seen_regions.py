"""What a model has read, of a token store and of a labelled set, and rows that overlap its regions."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.bundles.seen_regions import ReadRegions
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.coverage import Spans, covered_bp, merge_spans
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled import LabelledSet
from dna_bigbird.labelled.sequence_hashes import row_hashes, rows_without_coordinates

MOST_REGIONS = 3000
"""If there are more they are joined over gaps that no held-out window overlaps."""
GAPS_BP = (0, 100, 1000, 10_000, 100_000, 1_000_000)
NO_SPANS: Spans = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def read_in_pretraining(store: TokenStore) -> ReadRegions:
    """Return the regions of all documents of a token store."""
    return ReadRegions(PRETRAINING, store.assembly, as_text(store.regions()))


def read_in_fine_tuning(labelled: LabelledSet) -> ReadRegions:
    """Return the windows of the training rows of a labelled set, and apart those of its validation rows.

    A window as long as its chromosome is a sequence without coordinates (promoter-sequences).
    """
    train, validation, test = (labelled.rows(x) for x in ("train", "validation", "test"))
    facts = (labelled.task, labelled.assembly)
    if not labelled.has_coordinates:
        elsewhere = f"{len(train):,} sequences without coordinates"
        return ReadRegions(*facts, {}, elsewhere, validation={}, is_hashed=True)
    alone = labelled.chromosomes_of_one_window()
    number = len(alone & row_spans(labelled, train).keys())
    elsewhere = f"{number:,} sequences of {labelled.window_bp} bp without coordinates" * (
        number > 0
    )
    regions, chosen_on = (
        as_text(
            {name: x for name, x in row_spans(labelled, rows).items() if name not in alone},
            apart=row_spans(labelled, others),
        )
        for rows, others in ((train, np.concatenate([validation, test])), (validation, test))
    )
    return ReadRegions(*facts, regions, elsewhere, validation=chosen_on, is_hashed=True)


def hashes_read(labelled: LabelledSet) -> NDArray[np.uint64]:
    """Return the hashes of the training and validation rows without coordinates, rising, each once."""
    rows = np.concatenate([labelled.rows("train"), labelled.rows("validation")])
    return np.unique(row_hashes(labelled, rows_without_coordinates(labelled, rows)))


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
    """Return which rows of a set share a base with any of the regions, those of validation rows included."""
    return overlapping(regions, labelled.intervals[rows])


def overlapping(regions: Iterable[ReadRegions], windows: Windows) -> NDArray[np.bool_]:
    """Return which windows share a base with any of the regions; chr22 and 22 are the same chromosome.

    Example:
        >>> from dna_bigbird.genome import Interval
        >>> regions = [ReadRegions("chromatin", "GRCh37", {"22": "101-200"})]
        >>> windows = [Interval("chr22", 50, 100), Interval("chr22", 50, 101), Interval("chr1", 50, 101)]
        >>> overlapping(regions, Windows.of(windows)).tolist()
        [False, True, False]
    """
    is_read = np.zeros(len(windows), dtype=bool)
    for record in regions:
        spans = _spans(record)
        for number, name in enumerate(windows.chromosomes):
            if (merged := spans.get(usual_name(name))) is not None:
                here = np.flatnonzero(windows.chrom == number)
                start = np.maximum(windows.start[here].astype(np.int64), 0)
                is_read[here] |= covered_bp(merged, start, windows.end[here].astype(np.int64)) > 0
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
    """Return regions by usual name of the chromosome."""
    bounds: dict[str, list[tuple[int, int]]] = {}
    for chrom, start, end in record.bounds(with_validation=True):
        bounds.setdefault(usual_name(chrom), []).append((start - 1, end))
    return {chrom: merge_spans(*zip(*pairs, strict=True)) for chrom, pairs in bounds.items()}
