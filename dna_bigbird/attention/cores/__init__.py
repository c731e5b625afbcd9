"""Modules that own a pattern and the projections."""

from dna_bigbird.attention.cores.block import BlockAttention, Full
from dna_bigbird.attention.cores.itc import BigBirdItc

__all__ = ["BigBirdItc", "BlockAttention", "Full"]
