"""Which pairs a bundle was trained on with labels; they have no part in the leak-free score."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.read_regions import ReadRegions
from dna_bigbird.genome.coverage import covered_bp, merge_spans
from dna_bigbird.inputs.assemblies import usual_assembly
from dna_bigbird.suites.suite import PairRow, PairRows

READ_WITH_LABELS, READ_UNKNOWN = "read_with_labels", "read_unknown"


@dataclass(frozen=True)
class PairLeaks:
    """What is left out of the leak-free score."""

    keeps: NDArray[np.bool_]
    """(N,)."""
    counts: dict[str, int] = field(default_factory=dict)
    """Pairs left out by reason."""
    notes: tuple[str, ...] = ()


def pair_leaks(config: BundleConfig, rows: PairRows) -> PairLeaks:
    """Find the pairs whose real sequence was read in a fine-tuning of the bundle.

    A pair for which that is not known is left out too, and counted as such.
    """
    trainings = None
    if config.regions_read is not None:
        trainings = [record for record in config.regions_read if not record.is_pretraining]
    is_read = np.zeros(len(rows.rows), dtype=bool)
    is_unknown = np.full(len(rows.rows), trainings is None)
    for record in trainings or []:
        read, unknown = _read_in(record, rows)
        is_read |= read
        is_unknown |= unknown
    is_unknown &= ~is_read
    counts = {READ_WITH_LABELS: int(is_read.sum()), READ_UNKNOWN: int(is_unknown.sum())}
    notes = ()
    if is_unknown.any():
        notes = (
            f"Of {is_unknown.sum():,} pairs it is not known whether the model was trained on them; they "
            "are left out of the leak-free score.",
        )
    return PairLeaks(~(is_read | is_unknown), counts, notes)


def _read_in(record: ReadRegions, rows: PairRows) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pairs were read in a training, and for which pairs that is unknown, (N,) each."""
    is_read = np.zeros(len(rows.rows), dtype=bool)
    is_unknown = np.zeros(len(rows.rows), dtype=bool)
    has_interval = np.array([row.interval is not None for row in rows.rows], dtype=bool)
    comparable = usual_assembly(record.assembly) == usual_assembly(rows.assembly)
    if record.regions is None or not comparable:
        is_unknown |= has_interval
    else:
        is_read |= _overlaps(record, rows.rows)
    by_sequence = read_as_sequences(record, [row.sequence for row in rows.rows])
    if by_sequence is None:
        is_unknown |= ~has_interval
    else:
        is_read |= by_sequence
    return is_read, is_unknown


def read_as_sequences(record: ReadRegions, sequences: Sequence[str]) -> NDArray[np.bool_] | None:
    """Return which sequences were read as sequences in a training, (n,); None where that is not known.

    A record has no checksums of sequences yet, so it is never known: a promoter without coordinates may be
    one that was read at its place in a genome.
    """
    return None


def _overlaps(record: ReadRegions, rows: Sequence[PairRow]) -> NDArray[np.bool_]:
    by_chrom: dict[str, list[tuple[int, int]]] = {}
    for chrom, first, last in record.bounds():
        by_chrom.setdefault(chrom.removeprefix("chr"), []).append((first - 1, last))
    spans = {chrom: merge_spans(*zip(*bounds, strict=True)) for chrom, bounds in by_chrom.items()}
    overlaps = np.zeros(len(rows), dtype=bool)
    for i, row in enumerate(rows):
        if row.interval is None:
            continue
        merged = spans.get(row.interval.chrom.removeprefix("chr"))
        if merged is not None:
            start, end = np.array([row.interval.start]), np.array([row.interval.end])
            overlaps[i] = covered_bp(merged, start, end)[0] > 0
    return overlaps
