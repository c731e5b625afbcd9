"""JSON files of a bundle, which may come from anywhere, and the types of their values."""

import math
import re
from collections.abc import Callable
from pathlib import Path

from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import read_json

MAX_JSON_BYTES = 16 * 2**20
"""A thousand labels take a hundred kilobytes."""
MAX_JSON_DEPTH = 20
_REGIONS = re.compile(r"\d{1,12}-\d{1,12}(,\d{1,12}-\d{1,12})*")
_BREAKS_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def is_number(value: object) -> bool:
    """Return True if a value is a whole number of at least 0; JSON's `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_text(value: object) -> bool:
    """Return True if a value is a text without tab or line break, as tables need it."""
    return isinstance(value, str) and not _BREAKS_A_LINE.search(value)


def is_texts(value: object) -> bool:
    """Return True if a value is a list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


def _is_finite_numbers(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x) for x in value
    )


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_region_records(value: object) -> bool:
    return _is_objects(value) and all(
        is_text(item.get("training"))
        and is_text(item.get("assembly"))
        and is_text(item.get("elsewhere", ""))
        and _is_regions(item.get("regions"))
        and _is_regions(item.get("validation"))
        and isinstance(item.get("is_hashed", False), bool)
        for item in value
    )


def _is_regions(value: object) -> bool:
    """Return True for None and for regions by chromosome."""
    return value is None or (
        isinstance(value, dict)
        and all(is_text(chrom) and is_text(text) for chrom, text in value.items())
        and all(_REGIONS.fullmatch(text) for text in value.values())
    )


NEEDED = (
    "vocab_size", "hidden_size", "num_layers", "num_heads", "ffn_size", "max_tokens", "block_size",
    "num_random",
)  # fmt: skip
"""Settings that every bundle has; with a default instead it would be another model."""

KNOWN: dict[str, tuple[Callable[[object], bool], str]] = {
    "task": (is_text, "a text"),
    "dna_bigbird_version": (is_text, "a text"),
    "label_names": (is_texts, "a list of texts"),
    "label_groups": (is_texts, "a list of texts"),
    "label_type": (is_text, "a text"),
    "target_means": (_is_finite_numbers, "a list of numbers"),
    "target_stds": (_is_finite_numbers, "a list of numbers"),
    "bin_bp": (is_number, "a whole number"),
    "assembly": (is_text, "a text"),
    "negatives": (is_text, "a text"),
    "semi_synthetic": (lambda value: isinstance(value, bool), "true or false"),
    "search": (_is_objects, "a list of objects"),
    "directional": (lambda value: isinstance(value, bool), "true or false"),
    "training": (lambda value: isinstance(value, dict), "an object"),
    "masking": (lambda value: isinstance(value, dict), "an object"),
    "objective": (lambda value: isinstance(value, dict), "an object"),
    "huggingface": (lambda value: isinstance(value, dict), "an object"),
    "sha256": (lambda value: isinstance(value, dict), "an object"),
    "member_models": (_is_objects, "a list of objects"),
    "lengthened": (_is_objects, "a list of objects"),
    "regions_read": (_is_region_records, "a list of what was read in each training"),
    "n_sequences_read": (is_number, "a whole number"),
    "reads": (is_text, "a text"),
    "set": (is_text, "a text"),
}
"""Type of a value if the key is present; keys that the package does not read may have any value."""


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


def check_types(config: dict) -> None:
    """Raise ValueError if a value of config.json is missing in every bundle or has another type."""
    for name in ("task", "encoder"):
        if name not in config:
            raise ValueError(f"{name} is missing")
    for name, (is_good, expected) in KNOWN.items():
        if config.get(name) is not None and not is_good(config[name]):
            raise wrong_value(name, config[name], expected)
    for name in NEEDED if isinstance(config["encoder"], dict) else ():
        if name not in config["encoder"]:
            raise ValueError(f"encoder: {name} is missing")


def wrong_value(name: str, value: object, expected: str) -> ValueError:
    """Return the error of a value that is not as expected."""
    return ValueError(f"{name} is {shortened(repr(value))}, expected {expected}")
