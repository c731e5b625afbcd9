"""The model on disk: load, save, config, weights, card, bundled model, ensembles."""
