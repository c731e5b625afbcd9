"""Promoters that are published as sequences alone: each becomes a small chromosome of its own."""

from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of, read_fasta


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
