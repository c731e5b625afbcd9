"""Sparse attention: a pattern says which keys, a backend says how it is computed."""

from dna_bigbird.attention import patterns
from dna_bigbird.attention.attend import attend

__all__ = ["attend", "patterns"]
