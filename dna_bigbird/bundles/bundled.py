"""The bundled model; docs/bundled-model.md says what it is."""

from pathlib import Path

from dna_bigbird.errors import InputError

BUNDLED = Path(__file__).parent / "data" / "promoter"


def bundled_model() -> Path:
    """Return the bundle folder of the promoter model in this package.

    Raises:
        InputError: If this installation has none.
    """
    if not (BUNDLED / "config.json").is_file():
        raise InputError(
            "no model given, and this installation has no bundled one. Make one with: make demo. "
            "Then name it: results/models/promoter"
        )
    return BUNDLED
