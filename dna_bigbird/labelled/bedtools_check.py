"""Results of our own code compared with those of bedtools; a difference is a fault of one of them."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyfaidx

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import is_gzip
from dna_bigbird.genome.bed import iter_bed
from dna_bigbird.genome.bedtools import most_shared_bp, mostly_covered_bins
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.labelled.chromatin.peak_sheet import EVERY_NAME, PeakLabel, SheetRow
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.shared_rows import SHARED_BASES, Leak, LeakageRows

# A second reader of FASTA files, pyfaidx, for rows that are compared with the genome.
#
# `Genome` reads plain files by code and index of its own. A fault there would be the same when a set is
# built and when it is checked. pyfaidx indexes and reads the file by other code.

_PACKED = (".gz", ".bgz")
"""By such a name pyfaidx takes any file for a packed one. It reads these with Biopython only."""


def second_reader(genome: Genome) -> Genome:
    """Return a genome of the same file that pyfaidx reads; a bgzip file keeps its reader."""
    if is_gzip(genome.path) or genome.path.suffix.lower() in _PACKED:
        note(
            f"{genome.path}: not compared with pyfaidx, the second reader, which is for plain FASTA"
        )
        return genome
    return PyfaidxGenome(genome.path)


class PyfaidxGenome(Genome):
    """A plain FASTA file as `Genome`, whose letters pyfaidx reads, with an index in memory."""

    def _open(self) -> None:
        super()._open()
        try:
            with tempfile.TemporaryDirectory() as folder:
                index = Path(os.fsdecode(folder)) / "index.fai"
                self._faidx = pyfaidx.Faidx(str(self.path), indexname=str(index), as_raw=True)
        except (pyfaidx.FastaIndexingError, pyfaidx.IndexNotFoundError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"{self.path}: pyfaidx cannot index it ({reason}). Rewrite it: "
                "dna-bigbird genome --help"
            ) from error
        lengths = {name: entry.rlen for name, entry in self._faidx.index.items()}
        for name in self.lengths | lengths:
            ours, theirs = self.lengths.get(name), lengths.get(name)
            if ours != theirs:
                raise InputError(
                    f"{self.path}: record {name!r} has {_bases(ours)} by its index and "
                    f"{_bases(theirs)} as pyfaidx counts. Delete {self.path.name}.fai to have it "
                    "made again"
                )

    def __del__(self) -> None:
        if hasattr(self, "_faidx"):
            self._faidx.close()
        super().__del__()

    def _read(self, chrom: str, start: int, end: int) -> bytes:
        if start == end:
            return b""
        try:
            letters = self._faidx.fetch(chrom, start + 1, end).encode()
        except (pyfaidx.FetchError, ValueError, OSError) as error:
            raise InputError(f"{self.path}: {chrom}:{start + 1}-{end} cannot be read") from error
        if len(letters) != end - start:
            raise InputError(
                f"{self.path}: {chrom}:{start + 1}-{end} has {len(letters)} letters as pyfaidx "
                "reads it. Is the file damaged, or was it changed meanwhile?"
            )
        return letters


def _bases(length: int | None) -> str:
    return "no bases" if length is None else f"{length:,} bases"


_REPORT = "One of the two is wrong: please report it with the files"


def check_shared_bases(rows: LeakageRows, leaks: Sequence[Leak]) -> None:
    """Compare the leaks of the kind `shared_bases` with the overlaps that bedtools finds."""
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
    """Compare every n-th bin's labels with those bedtools makes; return how many were compared."""
    # The peaks are read line by line: other code than that of the set.
    rows = np.arange(0, len(data), every)
    chrom, start = data.intervals.chrom[rows].astype(np.int64), data.bin_starts[rows]
    ours = data.labels[rows]
    theirs = np.zeros_like(ours)
    columns = {(x.line_number, x.name): column for column, x in enumerate(labels)}
    for row in sheet:
        peaks = _peaks(row, columns, genome)
        theirs[mostly_covered_bins(peaks, chrom, start, data.bin_bp)] = 1
    for index, column in np.argwhere((ours != theirs) & ~np.isnan(ours))[:1].tolist():
        where = data.intervals.chromosomes[int(chrom[index])]
        raise InputError(
            f"{labels[column].path}: label {labels[column].name!r} of the bin "
            f"{where}:{start[index]}-{start[index] + data.bin_bp} is {ours[index, column]:.0f}, and "
            f"{theirs[index, column]:.0f} as bedtools counts. {_REPORT}"
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
