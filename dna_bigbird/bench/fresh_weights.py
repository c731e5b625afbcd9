"""The network of a bundle with random weights: what its architecture alone scores, without any training."""

from dataclasses import replace

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.network import build_model

DESCRIPTION = "the network of the model with random weights, not trained"


def with_fresh_weights(bundle: Bundle) -> Bundle:
    """Return a bundle with the random weights of seed 0, in evaluation mode."""
    return replace(bundle, model=build_model(bundle.config).eval())
