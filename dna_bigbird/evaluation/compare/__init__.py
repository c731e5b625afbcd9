"""Several models in one table: pretrained models, promoter and chromatin models."""
