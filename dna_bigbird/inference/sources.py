"""Where the windows to be scored come from: FASTA files, intervals of a genome, sequences in memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.inference.bed_source import BedSource
from dna_bigbird.inference.fasta_source import FastaSource
from dna_bigbird.inference.window_source import SequenceSource, WindowSource

Coordinates = Literal["record", "genome"]


@checked()
def fasta_source(
    path: Path | str, *, window_bp: int, stride_bp: int, coordinates: Coordinates = "record"
) -> WindowSource:
    """Return the windows over every record of a FASTA file.

    Args:
        path: Plain, gzip or bgzip; '-' is standard input.
        coordinates: 'record' counts from the start of each record. 'genome' does the same but for
            records named after places (see `record_names.place_of`): their windows carry the name
            and the coordinates of the chromosome, with the bases as the record has them, on
            whichever strand. Such a record is held in memory if the input can be read only once.

    Raises:
        InputError: If the file is missing or in a binary format; all else shows in `check`.
    """
    return FastaSource(str(path), window_bp, stride_bp, coordinates == "genome")


@checked()
def bed_source(
    bed: Path | str,
    fasta: Path | str,
    *,
    window_bp: int,
    stride_bp: int,
    strand: Literal["both", "forward", "interval"] = "both",
) -> WindowSource:
    """Return the windows over the intervals of a BED file, cut from a genome.

    Rows may overlap and stand in any order. Windows carry the coordinates of the genome, which
    names the chromosomes.

    Args:
        bed: Plain, gzip or bgzip; '-' is standard input.
        strand: With 'interval' a row on '-' is read, and cut into windows, from its end on the
            other strand; otherwise every row is read on '+'.

    Raises:
        InputError: If a file is missing or in a binary format, or the genome is no FASTA file; all
            else shows in `check`.
    """
    return BedSource(str(bed), Genome(fasta), window_bp, stride_bp, strand == "interval")


def sequence_source(
    sequences: Mapping[str, str], *, window_bp: int, stride_bp: int
) -> WindowSource:
    """Return the windows over sequences in memory, by name.

    Raises:
        InputError: If there is none, a name is empty or has blanks, a sequence is empty or no DNA.
    """
    return SequenceSource(sequences, window_bp, stride_bp)
