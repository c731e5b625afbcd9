"""Checks of config.json of a bundle, which may come from anywhere, before anything is built from it."""

import re
from collections.abc import Callable
from pathlib import Path

from dna_bigbird.datasets.text import registry
from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import read_json
from dna_bigbird.models.config import PRETRAINING_HEADS, EncoderConfig, HeadConfig
from dna_bigbird.models.stored_settings import settings_from

FORMAT_VERSION = 1
PRETRAINING = "pretraining"
MAX_JSON_BYTES = 16 * 2**20
"""A thousand labels take a hundred kilobytes."""
MAX_JSON_DEPTH = 20
MAX_WINDOW_BP = 100_000_000
"""Windows are kept in memory."""
_BREAKS_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")


def is_number(value: object) -> bool:
    """Return True if a value is a whole number of at least 0; JSON's `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_text(value: object) -> bool:
    """Return True if a value is a text without tab or line break, as tables need it."""
    return isinstance(value, str) and not _BREAKS_A_LINE.search(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


NEEDED = (
    "vocab_size", "hidden_size", "num_layers", "num_heads", "ffn_size", "max_tokens", "block_size",
    "num_random",
)  # fmt: skip
"""Settings that every bundle has; with a default instead it would be another model."""

KNOWN: dict[str, tuple[Callable[[object], bool], str]] = {
    "dna_bigbird_version": (is_text, "a text"),
    "label_names": (_is_texts, "a list of texts"),
    "label_groups": (_is_texts, "a list of texts"),
    "bin_bp": (is_number, "a whole number"),
    "assembly": (is_text, "a text"),
    "negatives": (is_text, "a text"),
    "semi_synthetic": (lambda value: isinstance(value, bool), "true or false"),
    "training": (lambda value: isinstance(value, dict), "an object"),
    "masking": (lambda value: isinstance(value, dict), "an object"),
    "huggingface": (lambda value: isinstance(value, dict), "an object"),
    "sha256": (lambda value: isinstance(value, dict), "an object"),
    "member_models": (_is_objects, "a list of objects"),
    "lengthened": (_is_objects, "a list of objects"),
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
    layer, depth = [value], 0
    while layer:
        depth += 1
        if depth > MAX_JSON_DEPTH:
            raise InputError(f"{path}: nested deeper than {MAX_JSON_DEPTH} levels")
        for text in layer:
            if isinstance(text, str) and _HALF_CHARACTER.search(text):
                raise InputError(f"{path}: {shortened(ascii(text))} is half of a character")
        keys = [key for item in layer if isinstance(item, dict) for key in item]
        children = [x for item in layer if isinstance(item, dict) for x in item.values()]
        children += [x for item in layer if isinstance(item, list) for x in item]
        layer = keys + children
    return value


def check_config(config: dict) -> None:
    """Raise ValueError if a value that the package reads is missing or has another type or range."""
    for name in ("task", "encoder"):
        if name not in config:
            raise ValueError(f"{name} is missing")
    for name, (is_good, expected) in (KNOWN | {"task": (is_text, "a text")}).items():
        if config.get(name) is not None and not is_good(config[name]):
            raise _wrong(name, config[name], expected)
    for name in NEEDED if isinstance(config["encoder"], dict) else ():
        if name not in config["encoder"]:
            raise ValueError(f"encoder: {name} is missing")
    _settings(config, "encoder", EncoderConfig)
    if config["task"] == PRETRAINING:
        heads = config.get("heads", list(PRETRAINING_HEADS))
        if not _is_texts(heads):
            raise _wrong("heads", heads, "a list of texts")
    elif config["task"] in registry.tasks():
        _check_text(config)
    else:
        _check_labels(config)


def _settings(config: dict, name: str, settings_type: type) -> None:
    try:
        settings_from(settings_type, config[name])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _check_text(config: dict) -> None:
    _check_present(config, "label_names", "head", "options")
    if config.get("reads") != "text":
        raise _wrong("reads", config.get("reads"), "'text'")
    task = registry.describe(config["task"])
    _settings(config, "head", task.head_type())
    _settings(config, "options", task.options)
    if task.needs_labels and not config["label_names"]:
        raise ValueError("label_names must hold at least one name")


def _check_present(config: dict, *names: str) -> None:
    for name in names:
        if config.get(name) is None:
            raise ValueError(f"{name} is missing")
    if config["encoder"]["max_tokens"] < 3:
        raise ValueError("encoder: max_tokens leaves no place between [CLS] and [SEP]")


def _check_labels(config: dict) -> None:
    _check_present(config, "label_names", "head", "window_bp")
    _settings(config, "head", HeadConfig)
    names, groups = config["label_names"], config.get("label_groups")
    if not names or not all(name.strip() for name in names):
        raise ValueError("label_names must hold at least one name, and no empty one")
    if groups is not None and len(groups) != len(names):
        raise ValueError(f"it has {len(names)} label_names and {len(groups)} label_groups")
    window_bp = config["window_bp"]
    if not is_number(window_bp) or not 1 <= window_bp <= MAX_WINDOW_BP:
        raise _wrong("window_bp", window_bp, f"1 to {MAX_WINDOW_BP:,}")
    if "members" in config and not (is_number(config["members"]) and config["members"] >= 2):
        raise _wrong("members", config["members"], "a whole number of at least 2")


def _wrong(name: str, value: object, expected: str) -> ValueError:
    return ValueError(f"{name} is {shortened(repr(value))}, expected {expected}")
