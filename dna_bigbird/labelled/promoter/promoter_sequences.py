"""`dna-bigbird promoter-sequences`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import note
from dna_bigbird.core.paths import BedOutput, FastaOutput, InputPath
from dna_bigbird.core.results import Result
from dna_bigbird.core.settings import Count


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
    from dna_bigbird.genome.sites.sequences import write_as_chromosomes

    with atomic_path(output) as partial_fasta, atomic_path(output_sites) as partial_sites:
        count = write_as_chromosomes(input, tss_offset, partial_fasta, partial_sites, name)
    note(f"{count} sequences")
    return PromoterChromosomes(output, output_sites, count)
