"""The models that a user names, or the one that comes with the package."""

from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.errors import note
from dna_bigbird.inference.bundle import Bundle, load_bundle

Model = Bundle | Path | str
"""A bundle, loaded or as a folder."""
Models = Model | Sequence[Model] | None
"""One, or several, whose probabilities are averaged; None for the shipped one."""


def load_models(model: Models) -> list[Bundle]:
    """Load the bundles that are meant; says on standard error if it is the shipped one.

    Raises:
        InputError: As `load_bundle`, naming the bundle.
    """
    if model is None:
        from dna_bigbird.inference.shipped import shipped_bundle

        folder = shipped_bundle()
        note(
            f"no --model given: scored with the model that comes with the package ({folder.name}); "
            "what it is good for: dna-bigbird info"
        )
        return [load_bundle(folder)]
    models = [model] if isinstance(model, Model) else model
    return [each if isinstance(each, Bundle) else load_bundle(each) for each in models]
