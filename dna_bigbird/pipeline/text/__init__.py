"""The same for text: what each command of `dna-bigbird text` does."""
