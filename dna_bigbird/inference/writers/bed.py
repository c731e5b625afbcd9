"""Predictions as BED: BED6 and the probability, one row per stretch of bases and label."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.inference.writers.base import WriteContext
from dna_bigbird.inference.writers.track import Segments, place_windows, segments_of
from dna_bigbird.writing import atomic_path

HEADER = "#chrom\tstart\tend\tname\tscore\tstrand\tprobability\n"
HIGHEST = 1000
"""BED's scores are whole numbers up to this."""


def write_bed(path: Path, spool: Spool, context: WriteContext) -> None:
    """Write the file, sorted by chromosome name and start.

    Raises:
        OutputError: If the disk is full.
    """
    placement = place_windows(spool, context.margin_bp)
    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
        stream.write(HEADER)
        if len(placement.row):
            for segments in segments_of(placement, spool.column("probabilities")):
                stream.writelines(lines_of(segments, context.label_names))


def lines_of(segments: Segments, label_names: list[str]) -> Iterator[str]:
    """Yield the lines of some stretches, label after label within each."""
    scores = np.rint(segments.values * HIGHEST).astype(int).tolist()
    values = segments.values.tolist()
    for start, end, score, value in zip(
        segments.start.tolist(), segments.end.tolist(), scores, values, strict=True
    ):
        interval = f"{segments.chrom}\t{start}\t{end}\t"
        for name, rounded, exact in zip(label_names, score, value, strict=True):
            yield f"{interval}{name}\t{rounded}\t.\t{exact:.5g}\n"
