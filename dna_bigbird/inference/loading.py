"""The models that a user names, or the one that comes with the package."""

import sys
from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.inference.bundle import Bundle, load_bundle

Models = Path | str | Sequence[Path | str] | None
"""A bundle's folder, or several, whose probabilities are averaged; None for the shipped one."""


def load_models(model: Models) -> list[Bundle]:
    """Load the bundles that are meant; says on standard error if it is the shipped one.

    Raises:
        InputError: As `load_bundle`, naming the bundle.
    """
    if model is None:
        from dna_bigbird.inference.shipped import shipped_bundle

        folder = shipped_bundle()
        note(f"no --model given: scored with the model that comes with the package, {folder}")
        return [load_bundle(folder)]
    return [load_bundle(folder) for folder in ([model] if isinstance(model, Path | str) else model)]


def note(line: str) -> None:
    """Tell the user something on standard error that is no error."""
    print(f"dna-bigbird: note: {line}", file=sys.stderr)
