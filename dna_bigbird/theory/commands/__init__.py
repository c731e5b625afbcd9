"""The functions of `dna-bigbird theory`: the proofs of the paper as programs (docs/theory.md)."""
