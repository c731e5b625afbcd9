"""Which pairs a bundle was trained on with labels; they have no part in the leak-free score."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.datasets.sequence_hashes import sequence_hash
from dna_bigbird.datasets.windows import Windows
from dna_bigbird.evaluation.task_results import READ_WITH_LABELS
from dna_bigbird.inputs.assemblies import usual_assembly
from dna_bigbird.pipeline.read_regions import overlapping
from dna_bigbird.suites.suite import PairRows

READ_UNKNOWN = "read_unknown"


@dataclass(frozen=True)
class PairLeaks:
    """What is left out of the leak-free score."""

    keeps: NDArray[np.bool_]
    """(N,)."""
    counts: dict[str, int] = field(default_factory=dict)
    """Pairs left out by reason."""
    notes: tuple[str, ...] = ()


def pair_leaks(bundle: Bundle, rows: PairRows) -> PairLeaks:
    """Find the pairs whose real sequence was read in a fine-tuning of the bundle.

    A sequence with coordinates is compared with the regions that were read, one without with the sequences
    that the bundle remembers. A pair for which that is not known is left out too, and counted as such.
    """
    records, texts = bundle.config.regions_read, [row.sequence for row in rows.rows]
    hashes = np.array([sequence_hash(text) for text in texts], dtype=np.uint64)
    is_read = np.isin(hashes, bundle.sequences_read)
    is_unknown = np.full(len(texts), records is None)
    located = np.array([row.interval is not None for row in rows.rows], dtype=bool)
    windows = Windows.of([row.interval for row in rows.rows if row.interval is not None])
    for record in records or []:
        if record.is_pretraining:
            continue
        if record.regions is None or usual_assembly(record.assembly) != usual_assembly(
            rows.assembly
        ):
            is_unknown |= located
        else:
            is_read[located] |= overlapping([record], windows)
        if record.elsewhere and not record.is_hashed:
            is_unknown |= ~located
    is_unknown &= ~is_read
    return PairLeaks(
        ~(is_read | is_unknown),
        {READ_WITH_LABELS: int(is_read.sum()), READ_UNKNOWN: int(is_unknown.sum())},
        tuple(_notes(is_unknown, is_located=bool(located.all()))),
    )


def _notes(is_unknown: NDArray[np.bool_], *, is_located: bool) -> Iterator[str]:
    if is_unknown.any():
        yield (
            f"Of {is_unknown.sum():,} pairs it is not known whether the model was trained on them; they "
            "are left out of the leak-free score."
        )
    if not is_located and not is_unknown.all():
        yield (
            "Sequences without coordinates are compared with the sequences that the bundle remembers, not "
            "with the regions of a genome that it has read."
        )
