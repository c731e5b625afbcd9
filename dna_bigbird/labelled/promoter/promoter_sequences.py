"""`dna-bigbird promoter-sequences`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines
from dna_bigbird.core.paths import BedOutput, FastaOutput, InputPath
from dna_bigbird.core.results import Result
from dna_bigbird.core.settings import Count
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of, read_fasta

# Promoters that are published as sequences alone: each becomes a small chromosome of its own.


def read_promoter_sequences(path: Path | str, name: str) -> Iterator[tuple[str, str]]:
    """Yield names and normalised sequences of FASTA records, or of lines of bases."""
    lines = (line for _, line in numbered_lines(path, LONGEST_LINE) if line.strip())
    is_fasta = next(lines, "").startswith(">")
    for record in read_fasta(path) if is_fasta else _lines(path, name):
        yield record.name, dna_of(record, path)


def _lines(path: Path | str, name: str) -> Iterator[FastaRecord]:
    count = 0
    for number, line in numbered_lines(path, LONGEST_LINE):
        if line.strip():
            count += 1
            yield FastaRecord(f"{name}{count}", line.strip(), number)
    if not count:
        raise InputError(f"{path}: no sequence in it")


def write_as_chromosomes(
    path: Path | str, tss_offset: int, fasta: Path, sites: Path, name: str
) -> int:
    """Write sequences as chromosomes with BED6 sites at 0-based `tss_offset`; return how many."""
    count = 0
    with open(fasta, "w", encoding="ascii") as bases, open(sites, "w", encoding="utf-8") as bed:
        for chrom, sequence in read_promoter_sequences(path, name):
            count += 1
            if len(sequence) <= tss_offset:
                raise InputError(
                    f"{path}: {chrom} (sequence {count}) has {len(sequence)} bp; "
                    f"--tss_offset {tss_offset}, counted from 0, lies beyond its end"
                )
            print(f">{chrom}", sequence, sep="\n", file=bases)
            print(chrom, tss_offset, tss_offset + 1, chrom, 0, "+", sep="\t", file=bed)
    return count


@dataclass(frozen=True)
class PromoterChromosomes(Result):
    """Small chromosomes of one promoter each, and their start sites."""

    fasta: Path
    sites: Path
    num_sequences: int


@renamed(fasta="output", sites="output_sites")
@checked()
def promoter_sequences(
    input: InputPath,
    tss_offset: Count,
    output: FastaOutput,
    output_sites: BedOutput,
    name: str = "promoter",
) -> PromoterChromosomes:
    """Turn promoters published without coordinates into small chromosomes with a start site each.

    Join the FASTA with a genome (dna-bigbird genome) to have genomic negatives for them.

    Examples:
        dna-bigbird promoter-sequences --input tata_promoters.txt.gz --tss_offset 249 --output tata.fa \\
            --output_sites tata.bed

    Args:
        input: File to read: FASTA, or one sequence per line; plain or gzip.
        tss_offset: Position of the first transcribed base in every sequence, counted from 0.
        output: Result to write: FASTA file, one record per promoter.
        output_sites: Start sites to write: BED file.
        name: Sequences without a name get this name and their number from 1.
    """
    from dna_bigbird.core.writing import atomic_path

    with atomic_path(output) as partial_fasta, atomic_path(output_sites) as partial_sites:
        count = write_as_chromosomes(input, tss_offset, partial_fasta, partial_sites, name)
    note(f"{count} sequences")
    return PromoterChromosomes(output, output_sites, count)
