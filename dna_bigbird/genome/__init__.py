"""Where and what: intervals, alphabet, FASTA access, BED operations, lift-over."""

from dna_bigbird.genome.alphabet import normalise, reverse_complement
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval

__all__ = ["Genome", "Interval", "normalise", "reverse_complement"]
