"""The model on disk: load, save, config, metrics, card, bundled model, ensembles.

    from dna_bigbird.bundles import load_bundle, save_bundle

Nothing is imported before it is used: torch takes seconds.
"""

import importlib

_MODULES = {
    "Bundle": "bundle",
    "BundleConfig": "config",
    "Metrics": "metrics",
    "build_model": "network",
    "bundled_model": "bundled",
    "join_bundles": "ensemble",
    "load_bundle": "bundle",
    "model_card": "card",
    "save_bundle": "save",
}

__all__ = [*_MODULES]


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
