"""From FASTA to scores: the model bundle and what predicts with it."""


def load_bundle(folder):
    """Load a model bundle; see `dna_bigbird.inference.bundle.load_bundle`."""
    from dna_bigbird.inference.bundle import load_bundle as load

    return load(folder)


__all__ = ["load_bundle"]
