"""The model that comes with the package; docs/shipped-model.md says what it is."""

from pathlib import Path

from dna_bigbird.errors import InputError

SHIPPED = Path(__file__).parent / "shipped" / "promoter"


def shipped_bundle() -> Path:
    """Return the bundle folder of the promoter model in this package.

    Raises:
        InputError: If this installation has none.
    """
    if not (SHIPPED / "config.json").is_file():
        raise InputError(
            "no model given, and this version ships none. Make one with: make demo. "
            "Then name it: results/models/promoter"
        )
    return SHIPPED
