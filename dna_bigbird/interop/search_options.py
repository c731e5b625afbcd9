"""How the library's `generate` searches for summaries, as options of our task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import read_json
from dna_bigbird.models.stored_settings import is_finite

NAMES = {
    "beam_size": ("num_beams", int),
    "length_penalty": ("length_penalty", float),
    "early_stopping": ("early_stopping", bool),
    "min_target_tokens": ("min_new_tokens", int),
}
"""Options of our search: the library's name, and its type."""


def search_options(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which our search repeats the library's `generate` on this folder.

    What the folder does not say is left to our defaults.

    Raises:
        InputError: If a value has another type.
    """
    path = folder / "generation_config.json"
    options = {**config, **(read_json(path) if path.is_file() else {})}
    settings: dict[str, Any] = {"length_formula": "library"}
    for ours, (theirs, number_type) in NAMES.items():
        value = options.get(theirs)
        if value is None:
            continue
        is_number = is_finite(value) and (number_type is float or isinstance(value, int))
        if not (isinstance(value, bool) if number_type is bool else is_number):
            raise InputError(
                f"{folder}: {theirs} of the search is {shortened(ascii(value))}, expected {number_type.__name__}"
            )
        settings[ours] = number_type(value)
    # The library's lengths count the start token.
    limits = [(options.get("max_new_tokens"), 0), (options.get("max_length"), 1)]
    longest = next((v - less for v, less in limits if isinstance(v, int) and v > less + 1), None)
    if longest is not None:
        settings["max_target_tokens"] = longest
    least = options.get("min_length")
    if isinstance(least, int) and least > 1:
        settings["min_target_tokens"] = max(settings.get("min_target_tokens", 0), least - 1)
    return settings
