"""The models that a user names, or the bundled one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.paths import Role

Model = Bundle | Path | str
"""A bundle, loaded or as a folder."""
Models = Model | Sequence[Model] | None
"""One, or several, whose probabilities are averaged; None for the bundled one."""
InputModel = Annotated[Model | None, Role.INPUT]
InputModels = Annotated[Models, Role.INPUT]


def load_models(model: Models) -> list[Bundle]:
    """Load the bundles that are meant.

    Raises:
        InputError: As `load_bundle`, naming the bundle.
    """
    if model is None:
        from dna_bigbird.bundles.bundled import bundled_model

        return [load_bundle(bundled_model())]
    models = [model] if isinstance(model, Model) else model
    return [each if isinstance(each, Bundle) else load_bundle(each) for each in models]


def notes_on(model: Models) -> list[str]:
    """Return what a user should know of the choice of model, a line each."""
    if model is not None:
        return []
    from dna_bigbird.bundles.bundled import bundled_model

    return [
        f"no --model given: using the bundled model ({bundled_model().name}); "
        "what it is good for: dna-bigbird info"
    ]
