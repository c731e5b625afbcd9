"""Checksums of sequences: two FASTA files are the same genome if their bases are, however written.

Upper and lower case, line lengths, compression, the order of the records and `chr1` or `1` do not
matter. Letters are normalised first (`genome.alphabet`): IUPAC codes are N.
"""

import hashlib
from collections.abc import Mapping

from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval

_AT_ONCE_BP = 1 << 24


def sequence_sha256(genome: Genome, chrom: str) -> str:
    """Return the hexadecimal SHA-256 of a chromosome over A C G T N, read in pieces.

    Raises:
        InputError: If the genome has no such chromosome, or the file has letters that are not DNA.
    """
    digest = hashlib.sha256()
    length = genome.lengths[genome.resolve(chrom)]
    for start in range(0, length, _AT_ONCE_BP):
        piece = Interval(chrom, start, min(length, start + _AT_ONCE_BP))
        digest.update(genome.fetch(piece).encode("ascii"))
    return digest.hexdigest()


def combined_sha256(sequences: Mapping[str, str]) -> str:
    """Return one checksum for several chromosomes (`sequence_sha256` by name), in any order.

    Example:
        >>> combined_sha256({"chr2": "b", "chr1": "a"}) == combined_sha256({"1": "a", "2": "b"})
        True
    """
    lines = sorted(
        f"{chrom.removeprefix('chr')}\t{sha256}\n" for chrom, sha256 in sequences.items()
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()
