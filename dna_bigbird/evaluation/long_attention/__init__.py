"""The steps of `dna-bigbird compare-attention` (docs/long-attention.md)."""
