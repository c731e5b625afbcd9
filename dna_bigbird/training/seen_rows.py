"""Rows of a labelled set, or of a benchmark, that a model has read in a training."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.coverage import Spans, covered_bp, merge_spans
from dna_bigbird.genome.sources.assemblies import usual_assembly
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_set import LabelledSet, row_hashes, rows_without_coordinates

MOST_REGIONS = 3000
"""If there are more they are joined over gaps that no held-out window overlaps."""
GAPS_BP = (0, 100, 1000, 10_000, 100_000, 1_000_000)
NO_SPANS: Spans = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def seen_in_pretraining(store: TokenStore) -> SeenRegions:
    """Return the regions of all documents of a token store."""
    return SeenRegions(PRETRAINING, store.assembly, as_text(store.regions()))


def seen_in_fine_tuning(labelled: LabelledSet) -> SeenRegions:
    """Return the windows of the training rows of a set, and apart those of its validation rows."""
    # A window as long as its chromosome is a sequence without coordinates (promoter-sequences).
    train, validation, test = (labelled.rows(x) for x in ("train", "validation", "test"))
    facts = (labelled.task, labelled.assembly)
    if not labelled.has_coordinates:
        elsewhere = f"{len(train):,} sequences without coordinates"
        return SeenRegions(*facts, {}, elsewhere, validation={}, is_hashed=True)
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
    return SeenRegions(*facts, regions, elsewhere, validation=chosen_on, is_hashed=True)


def seen_hashes(labelled: LabelledSet) -> NDArray[np.uint64]:
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

    `apart` are windows that must not come into a region. None, unknown, if they are too many even
    so.

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


def overlapping(regions: Iterable[SeenRegions], windows: Windows) -> NDArray[np.bool_]:
    """Return which windows share a base with any of the regions; chr22 and 22 are the same chromosome.

    Example:
        >>> from dna_bigbird.genome import Interval
        >>> regions = [SeenRegions("chromatin", "GRCh37", {"22": "101-200"})]
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


def _spans(record: SeenRegions) -> dict[str, Spans]:
    """Return regions by usual name of the chromosome."""
    bounds: dict[str, list[tuple[int, int]]] = {}
    for chrom, start, end in record.bounds(with_validation=True):
        bounds.setdefault(usual_name(chrom), []).append((start - 1, end))
    return {chrom: merge_spans(*zip(*pairs, strict=True)) for chrom, pairs in bounds.items()}


IN_PRETRAINING = "n_test_windows_read_in_pretraining"
IN_FINE_TUNING = "n_test_windows_read_in_fine_tuning"


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Which of n rows were read by a model, as far as its bundle records it."""

    with_labels: NDArray[np.bool_]
    """(n,), shares a base with a training or validation row of a fine-tuning, or is one of the
    sequences that the bundle remembers, on either strand."""
    without_labels: NDArray[np.bool_]
    """(n,), shares a base with a region of pretraining; all False for rows without coordinates."""
    is_recorded: bool
    """Whether the bundle records what it read."""
    unknown: tuple[SeenRegions, ...] = ()
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


def seen_rows(bundle: Bundle, labelled: LabelledSet, rows: NDArray[np.int64]) -> SeenRows:
    """Return which rows of a set were read by a model."""
    # A row without coordinates is compared with remembered sequences as a whole: a part of one of
    # them is not recognised, and it is not compared with regions.
    windows = labelled.intervals[rows] if labelled.has_coordinates else None
    return compare_with_seen(
        bundle, len(rows), windows, labelled.assembly, lambda: row_hashes(labelled, rows)
    )


def compare_with_seen(
    bundle: Bundle,
    number: int,
    windows: Windows | None,
    assembly: str,
    hashes: Callable[[], NDArray[np.uint64]] | None,
) -> SeenRows:
    """Return which of some rows were read by a model."""
    # `hashes` gives the `sequence_hash` of every row, (number,); None for rows that are not
    # compared with remembered sequences, such as windows around variants.
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
    return SeenRows(with_labels, without_labels, records is not None, unknown)


def count_seen_rows(
    bundle: Bundle, labelled: LabelledSet, rows: NDArray[np.int64]
) -> dict[str, int]:
    """Return how many test rows were read by a model, for metrics.json."""
    # A count is left out if what was read is unknown, or read on another assembly. Of a set without
    # coordinates only the rows among the remembered sequences are counted, if there are any.
    records = bundle.config.regions_read
    if records is None:
        return {}
    read, counts = seen_rows(bundle, labelled, rows), {}
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


def _same(record: SeenRegions, assembly: str) -> bool:
    return usual_assembly(record.assembly) == usual_assembly(assembly)


def _is_known(record: SeenRegions, assembly: str | None) -> bool:
    """Return True if the regions are recorded and can be compared with rows on an assembly; None: without."""
    if record.regions is None or assembly is None:
        return record.regions is not None and not record.bounds(with_validation=True)
    # Sequences without coordinates have no assembly.
    return _same(record, assembly) or (record.is_hashed and not record.bounds(with_validation=True))


def _is_whole(record: SeenRegions, *, by_hash: bool = True) -> bool:
    """Return True if no sequence without coordinates was read that is not compared."""
    return (record.is_hashed and by_hash) or not record.elsewhere
