"""Modules that own a pattern and the projections."""

from dna_bigbird.attention.cores.block import BlockAttention, Full
from dna_bigbird.attention.cores.etc import BigBirdEtc
from dna_bigbird.attention.cores.itc import BigBirdItc
from dna_bigbird.attention.cores.longformer import Longformer
from dna_bigbird.attention.cores.performer import Performer
from dna_bigbird.attention.cores.relative_longformer import RelativeLongformer

__all__ = [
    "BigBirdEtc",
    "BigBirdItc",
    "BlockAttention",
    "Full",
    "Longformer",
    "Performer",
    "RelativeLongformer",
]
