"""A character model on disk: a folder, whole or absent.

    config.json         settings of the model, its alphabet, the data and the training
    model.safetensors   weights
    metrics.json        scores on validation, phase by phase
    history.tsv         figures of the training: phase, step, split, name, value
    README.md           what it is

Loading runs no code from the files.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import safetensors.torch

from dna_bigbird import __version__
from dna_bigbird.bundles.bundle import CHARACTERS, WEIGHTS
from dna_bigbird.bundles.config_file import read_bundle_json
from dna_bigbird.bundles.weights import (
    building,
    check_counts,
    check_shapes,
    fill,
    stored_shapes,
    unique_tensors,
)
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.result_folders import MODEL, atomic_directory
from dna_bigbird.core.settings import Count, Range, Seed
from dna_bigbird.core.writing import json_text
from dna_bigbird.corpus.characters import CharacterSplit, Source
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.models.character_model import CharacterModel
from dna_bigbird.models.stored_settings import settings_from, typed_value

FORMAT_VERSION = 1


@dataclass(frozen=True)
class CharacterDescription:
    """What a character model is, apart from its weights.

    Attributes:
        alphabet: The byte of each number.
        unscored: Number that is read but never predicted; None: there is none.
        source: Of the data: 'text8', 'enwik8', 'bytes' or 'dna'.
        input_sha256: Of the file that it was trained on.
        training: Settings of the training.
    """

    model: CharacterConfig
    alphabet: list[Annotated[int, Range(0, most=255)]]
    unscored: Count | None
    source: Source
    split: CharacterSplit
    input_sha256: str
    seed: Seed
    training: dict[str, Any]


def save_character_model(
    folder: Path,
    model: CharacterModel,
    description: CharacterDescription,
    *,
    metrics: dict[str, Any],
    history: str,
) -> None:
    """Write the folder."""
    state = {name: x.cpu().contiguous() for name, x in unique_tensors(model).items()}
    weights = safetensors.torch.save(state)
    first = {
        "task": CHARACTERS,
        "format_version": FORMAT_VERSION,
        "dna_bigbird_version": __version__,
        "sha256": {WEIGHTS: hashlib.sha256(weights).hexdigest()},
    }
    texts = {
        "config.json": json_text(first | asdict(description)),
        "metrics.json": json_text(metrics),
        "history.tsv": history,
        "README.md": _card(model, description, metrics),
    }
    with atomic_directory(folder, MODEL) as partial:
        (partial / WEIGHTS).write_bytes(weights)
        for name, text in texts.items():
            (partial / name).write_text(text, encoding="utf-8")


def load_character_model(folder: Path) -> tuple[CharacterModel, CharacterDescription]:
    """Return the model in evaluation mode on the CPU, and its description."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: no character model; expected a folder of train-characters")
    values = read_bundle_json(folder / "config.json")
    description = _description(folder / "config.json", values)
    path = folder / WEIGHTS
    shapes = stored_shapes(path)
    own = description.model
    sizes = {"hidden_size": own.hidden_size}
    check_counts(shapes, path, num_layers=own.num_layers, sizes=sizes)
    with building(f"{folder}/config.json"):
        model = CharacterModel(own)
    check_shapes(model, shapes, path)
    if sha256_of(path) != values["sha256"].get(WEIGHTS):
        raise InputError(
            f"{path}: its sha256 is not that of config.json; copy the folder again whole"
        )
    model = model.to_empty(device="cpu")
    if own.softmax == "tied":
        model.output.weight = model.embedding.weight
    fill(model, path)
    return model.eval(), description


def _description(path: Path, values: dict[str, Any]) -> CharacterDescription:
    if values.get("task") != CHARACTERS or values.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{path}: task {shortened(repr(values.get('task')))}, format_version "
            f"{shortened(repr(values.get('format_version')))}; expected {CHARACTERS!r}, {FORMAT_VERSION}: a "
            "folder of train-characters"
        )
    try:
        typed_value("sha256", values.get("sha256"), dict[str, str])
        names = {field.name for field in fields(CharacterDescription)}
        described = settings_from(
            CharacterDescription, {k: v for k, v in values.items() if k in names}
        )
        alphabet, size = described.alphabet, described.model.vocab_size
        if len(alphabet) != size or len(set(alphabet)) != size:
            raise ValueError(
                f"alphabet has {len(alphabet)} characters, {len(set(alphabet))} without repeats, model.vocab_size "
                f"is {size}"
            )
        return described
    except ValueError as error:
        raise InputError(f"{path}: it describes no character model: {error}") from None


def _card(model: CharacterModel, description: CharacterDescription, metrics: dict) -> str:
    numbers = sum(p.numel() for p in model.parameters())
    scores = json.dumps(metrics, indent=2)
    return (
        "# Character model\n\n"
        f"Longformer with causal windows and relative positions, {numbers:,} parameters, "
        f"{len(description.alphabet)} characters, trained on {description.source} "
        f"(sha256 {description.input_sha256[:12]}), seed {description.seed}. "
        f"Windows of the layers: {description.model.causal_windows}.\n\n"
        f"Scores on validation, in bits per character:\n\n```json\n{scores}\n```\n\n"
        "Score it with `dna-bigbird evaluate-characters`. It predicts the next character, nothing else.\n"
    )
