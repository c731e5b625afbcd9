"""BigBird for genomes: tokenizer, pretraining, promoter and chromatin models, predictions."""

__version__ = "0.1.0"
