"""JSON files of a bundle, which may come from anywhere."""

from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json

MAX_JSON_BYTES = 16 * 2**20
"""A thousand labels take a hundred kilobytes."""
MAX_JSON_DEPTH = 20


def is_number(value: object) -> bool:
    """Return True if a value is a whole number of at least 0; JSON's `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_bundle_json(path: Path) -> dict:
    """Read a JSON object of a bundle.

    Raises:
        InputError: If it is not an object, too large, nested too deeply, or has text that cannot be
            written as UTF-8.
    """
    size = path.stat().st_size
    if size > MAX_JSON_BYTES:
        raise InputError(f"{path}: {size:,} bytes, expected at most {MAX_JSON_BYTES:,}")
    value = read_json(path)
    layer: list = [value]
    depth = 0
    while layer:
        depth += 1
        if depth > MAX_JSON_DEPTH:
            raise InputError(f"{path}: nested deeper than {MAX_JSON_DEPTH} levels")
        children = [x for item in layer if isinstance(item, dict) for x in item.values()]
        layer = children + [x for item in layer if isinstance(item, list) for x in item]
    return value
