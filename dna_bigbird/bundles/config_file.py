"""Reading config.json of a bundle with all checks, before anything is built from it."""

from pathlib import Path

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.config import FORMAT_VERSION, LABEL_TYPES_VERSION, BundleConfig
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import read_json
from dna_bigbird.models.label_types import LABEL_TYPES, MULTI_CLASS, NUMBERS, REGRESSION, TRACKS
from dna_bigbird.models.scaling import Scaling
from dna_bigbird.models.stored_settings import wrong_value

MAX_JSON_BYTES = 16 * 2**20
"""A thousand labels take a hundred kilobytes."""
MAX_JSON_DEPTH = 20


def is_number(value: object) -> bool:
    """Return True if a value is a whole number of at least 0; JSON's `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_bundle_json(path: Path) -> dict:
    """Read a JSON object of a bundle, not too large and not nested too deeply."""
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


NEEDED = (
    "vocab_size", "hidden_size", "num_layers", "num_heads", "ffn_size", "max_tokens", "block_size",
    "num_random",
)  # fmt: skip
"""Settings of the encoder that every bundle has; with a default instead it would be another model."""


def read_config(path: Path) -> BundleConfig:
    """Read the config of a bundle; nothing has been allocated if it is refused."""
    values = read_bundle_json(path)
    if values.get("format_version") not in (FORMAT_VERSION, LABEL_TYPES_VERSION):
        raise InputError(
            f"{path}: format_version is {shortened(repr(values.get('format_version')))}, this "
            f"version reads {FORMAT_VERSION} and {LABEL_TYPES_VERSION}. Is the bundle from a newer dna-bigbird?"
        )
    try:
        for name in NEEDED:
            if isinstance(encoder := values.get("encoder"), dict) and name not in encoder:
                raise ValueError(f"encoder: {name} is missing")
        config = BundleConfig.from_json(values)
        if config.is_text_task:
            _check_text(config)
        elif not config.is_pretrained_only:
            _check_labels(config)
    except ValueError as error:
        raise InputError(f"{path}: it describes no model: {error}") from None
    return config


def _check_text(config: BundleConfig) -> None:
    _check_present(config, "label_names", "head", "options")
    if config.reads != "text":
        raise wrong_value("reads", config.stored.get("reads"), "'text'")
    if text_tasks.describe(config.task).needs_labels and not config.label_names:
        raise ValueError("label_names must have at least one name")


def _check_labels(config: BundleConfig) -> None:
    _check_present(config, "label_names", "head", "window_bp")
    names, groups = config.label_names, config.stored.get("label_groups")
    if not names or not all(name.strip() for name in names):
        raise ValueError("label_names must have at least one name, and no empty name")
    if groups is not None and len(groups) != len(names):
        raise ValueError(f"it has {len(names)} label_names and {len(groups)} label_groups")
    if config.label_type not in LABEL_TYPES:
        raise wrong_value("label_type", config.label_type, f"one of {', '.join(LABEL_TYPES)}")
    if config.calibration is not None:
        _check_scaling(config.calibration, config.label_type, len(names))
    if config.label_type in NUMBERS:
        for name in ("target_means", "target_stds"):
            if len(values := getattr(config, name)) != len(names):
                raise ValueError(f"it has {len(names)} label_names and {len(values)} {name}")


def _check_scaling(scaling: Scaling, label_type: str, num_labels: int) -> None:
    expected = {MULTI_CLASS: "a temperature", REGRESSION: "none", TRACKS: "none"}
    stored = "a temperature" if scaling.temperature is not None else f"{len(scaling.slopes)} slopes"
    if stored != (needed := expected.get(label_type, f"{num_labels} slopes")):
        raise ValueError(f"calibration has {stored}, expected {needed} for {label_type} labels")


def _check_present(config: BundleConfig, *names: str) -> None:
    for name in names:
        if config.stored.get(name) is None:
            raise ValueError(f"{name} is missing")
    if config.encoder.max_tokens < 3:
        raise ValueError("encoder: max_tokens leaves no position between [CLS] and [SEP]")
