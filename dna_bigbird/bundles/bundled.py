"""The models that come with the package; docs/reference/bundled-models.md says what they are."""

import os
from pathlib import Path

from dna_bigbird.core.errors import InputError

_DATA = Path(__file__).parent / "data"
BUNDLED = _DATA / "tata"
ANY_PROMOTER = _DATA / "any_promoter"
ENCODER = _DATA / "encoder"


def bundled_model() -> Path:
    """Return the bundle folder of the model of TATA promoters in this package, or raise InputError."""
    return _checked(BUNDLED, "promoter")


def bundled_any_promoter() -> Path:
    """Return the bundle folder of the model of all promoters in this package, or raise InputError."""
    return _checked(ANY_PROMOTER, "promoter")


def bundled_encoder() -> Path:
    """Return the bundle folder of the pretrained encoder in this package, or raise InputError."""
    return _checked(ENCODER, "pretrained")


def folder_of(folder: Path | str) -> Path:
    """Return the folder of a bundle, for the name of a model that of the model, unless there is a path of that name."""
    path = Path(folder)
    if path.exists() or path.name != str(path):
        return path
    if path.name in NAMES:
        return NAMES[path.name]()
    named = models_folder() / path
    return named if named.is_dir() else path


def models_folder() -> Path:
    """Return the folder of the models that `models add` names."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    folder = os.environ.get("DNA_BIGBIRD_MODELS") or f"{data}/dna-bigbird/models"
    return Path(os.path.expanduser(folder))


NAMES = {
    "bundled-encoder": bundled_encoder,
    "bundled-tata": bundled_model,
    "bundled-any-promoter": bundled_any_promoter,
    "bundled-promoter": bundled_model,  # of earlier versions
}
"""What `--model` and `--pretrained` may call the models of the package."""


def _checked(folder: Path, made_as: str) -> Path:
    if not (folder / "config.json").is_file():
        raise InputError(
            "no model given, and this installation has no bundled one. Make one with: make demo. "
            f"Then name it: results/models/{made_as}"
        )
    return folder
