"""A region that the user names, checked against a genome."""

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval, parse_region


def find_region(genome: Genome, text: str, option: str = "--region") -> Interval:
    """Return a region as an interval of the forward strand, with the genome's name of the chromosome.

    Args:
        text: As samtools writes it, `chr22:20,000,001-20,000,200`: from 1, both ends included.
        option: Whose value it is.

    Raises:
        InputError: Naming the option, if it is not a region or not inside a chromosome of the genome.
    """
    try:
        region = parse_region(text)
    except ValueError as error:
        raise InputError(f"{option} {error}") from error
    name = genome.resolve(region.chrom)
    length = genome.lengths[name]
    if region.end > length:
        raise InputError(
            f"{option} {text}: {name} has {length:,} bases in {genome.path.name}. Is this the right genome?"
        )
    return Interval(name, region.start, region.end)
