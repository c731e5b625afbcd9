"""The model on disk: load, save, config, metrics, card, bundled model, ensembles.

    from dna_bigbird.bundles import load_bundle, save_bundle

Nothing is imported before it is used: torch takes seconds.
"""

from dna_bigbird.core.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bundle": "dna_bigbird.bundles.bundle",
        "BundleConfig": "dna_bigbird.bundles.config",
        "Metrics": "dna_bigbird.bundles.metrics",
        "build_model": "dna_bigbird.bundles.weights",
        "bundled_encoder": "dna_bigbird.bundles.bundled",
        "bundled_model": "dna_bigbird.bundles.bundled",
        "join_bundles": "dna_bigbird.bundles.ensemble",
        "load_bundle": "dna_bigbird.bundles.bundle",
        "model_card": "dna_bigbird.bundles.card",
        "save_bundle": "dna_bigbird.bundles.save",
    },
)
