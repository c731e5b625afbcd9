"""Results of our own code compared with those of bedtools; a difference is a fault of one of them."""

from collections.abc import Iterator, Sequence

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.genome.bed import iter_bed
from dna_bigbird.genome.bedtools import most_shared_bp, mostly_covered_bins
from dna_bigbird.labelled.chromatin.peak_sheet import EVERY_NAME, PeakLabel, SheetRow
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.shared_rows import SHARED_BASES, Leak, LeakageRows

_REPORT = "One of the two is wrong: please report it with the files"


def check_shared_bases(rows: LeakageRows, leaks: Sequence[Leak]) -> None:
    """Compare the leaks of the kind `shared_bases` with the overlaps that bedtools finds.

    Raises:
        InputError: Naming the first row for which they differ.
    """
    chrom, start, split = rows.windows.chrom.astype(np.int64), rows.windows.start, rows.split
    ours = {(x.row, int(split[x.other])): x.measure for x in leaks if x.category == SHARED_BASES}
    for held_out in (1, 2):
        asked, others = np.flatnonzero(split < held_out), np.flatnonzero(split == held_out)
        shared = most_shared_bp(
            chrom[asked], start[asked], chrom[others], start[others], rows.windows.window_bp
        )
        expected = np.array([ours.get((row, held_out), 0) for row in asked.tolist()])
        for index in np.flatnonzero(shared != expected)[:1].tolist():
            window = rows.windows[int(asked[index])]
            raise InputError(
                f"row {asked[index]:,} ({window.chrom}:{window.start}-{window.end}) shares "
                f"{expected[index]:.0f} bases with a row of a split further held out, and "
                f"{shared[index]} as bedtools counts. {_REPORT}"
            )


def check_labels(
    data: LabelledData,
    sheet: Sequence[SheetRow],
    labels: Sequence[PeakLabel],
    genome: Genome,
    every: int,
) -> int:
    """Compare the labels of every n-th bin with those that bedtools makes from the peak files.

    The peaks are read line by line by other code, too.

    Args:
        labels: Those of the set, in its order.
        every: 1 compares all bins.

    Returns:
        How many bins were compared.

    Raises:
        InputError: Naming the first bin and label that differ.
    """
    rows = np.arange(0, len(data), every)
    chrom, start = data.intervals.chrom[rows].astype(np.int64), data.bin_starts[rows]
    ours = data.labels[rows]
    theirs = np.zeros_like(ours)
    columns = {(x.line_number, x.name): column for column, x in enumerate(labels)}
    for row in sheet:
        peaks = _peaks(row, columns, genome)
        theirs[mostly_covered_bins(peaks, chrom, start, data.bin_bp)] = 1
    for index, column in np.argwhere(ours != theirs)[:1].tolist():
        where = data.intervals.chromosomes[int(chrom[index])]
        raise InputError(
            f"{labels[column].path}: label {labels[column].name!r} of the bin "
            f"{where}:{start[index]}-{start[index] + data.bin_bp} is {ours[index, column]}, and "
            f"{theirs[index, column]} as bedtools counts. {_REPORT}"
        )
    return len(rows)


def _peaks(
    row: SheetRow, columns: dict[tuple[int, str], int], genome: Genome
) -> Iterator[tuple[int, int, int, int]]:
    """Yield label, chromosome, start and end of the peaks of a line of the sheet, as numbers."""
    ranks = {chrom: rank for rank, chrom in enumerate(genome.lengths)}
    for peak in iter_bed(row.path):
        name = row.prefix + (peak.name if row.label == EVERY_NAME else row.label)
        chrom, column = genome.find(peak.interval.chrom), columns.get((row.line_number, name))
        if chrom is None or column is None or peak.interval.end > genome.lengths[chrom]:
            continue  # left out, and counted, when the set was built
        yield column, ranks[chrom], peak.interval.start, peak.interval.end
