"""The steps of `dna-bigbird compare-attention` (docs/explanation/longformer-and-performer.md)."""
