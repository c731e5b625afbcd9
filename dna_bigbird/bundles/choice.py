"""The models that a user names, or the bundled model. Read without torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import bundled_model
from dna_bigbird.messages import for_reader
from dna_bigbird.paths import Role

Model = Bundle | Path | str
"""A bundle, loaded or as a folder."""
Models = Model | Sequence[Model] | None
"""One model, or several whose probabilities are averaged; None for the bundled model."""
InputModel = Annotated[Model | None, Role.INPUT]
InputModels = Annotated[Models, Role.INPUT]


def load_models(model: Models) -> list[Bundle]:
    """Load the named models, or the bundled model.

    Raises:
        InputError: As `load_bundle`, naming the bundle.
    """
    if model is None:
        model = bundled_model()
    models = [model] if isinstance(model, Model) else model
    return [x if isinstance(x, Bundle) else load_bundle(x) for x in models]


def notes_on(model: Models) -> list[str]:
    """Return notes for a user who named no model, one line each."""
    if model is not None:
        return []
    text = (
        f"no --model given: using the bundled model ({bundled_model().name}); "
        "what it is good for: dna-bigbird info"
    )
    return [for_reader(text)]
