"""Which key blocks a query block reads."""

from dna_bigbird.attention.patterns.itc import bigbird_itc
from dna_bigbird.attention.patterns.pattern import BlockPattern, draw, full

__all__ = ["BlockPattern", "bigbird_itc", "draw", "full"]
