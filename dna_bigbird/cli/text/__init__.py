"""Commands of `dna-bigbird text`, one small module per command."""
