"""The model bundle: a folder with everything that predicting needs (architecture §3).

    config.json         task, architecture, pattern parameters, label names, versions, sha256 of the
                        weights and the tokenizer
    model.safetensors   weights
    tokenizer.model     SentencePiece; of a model from elsewhere tokenizer.json or spiece.model, with
                        special_tokens_map.json
    metrics.json        scores: flat keys, n, seed, split, baselines; no time, no path
    README.md           model card

An ensemble is a bundle too: its config names the number of `members`, its weights begin with
`members.0.`, `members.1.`, …

Loading runs no code from the files: JSON, safetensors and a SentencePiece model only
(docs/security.md).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors.torch
import torch
from torch import nn

from dna_bigbird import __version__
from dna_bigbird.bundles.config import (
    FORMAT_VERSION,
    PRETRAINING,
    read_bundle_json,
    read_config,
)
from dna_bigbird.bundles.weights import (
    check_counts,
    check_shapes,
    fill,
    stored_shapes,
    unique_tensors,
)
from dna_bigbird.corpus.tokenizer_files import TOKENIZER_FILES, Tokenizer, load_tokenizer
from dna_bigbird.datasets.text import registry
from dna_bigbird.errors import InputError
from dna_bigbird.files import sha256_of
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.ensemble import EnsembleClassifier
from dna_bigbird.models.pretraining import HEADS, PretrainingModel
from dna_bigbird.writing import atomic_directory, refuse_other_folder

WEIGHTS = "model.safetensors"
FILES = ("config.json", WEIGHTS, "metrics.json", "README.md")
"""What every bundle has beside its tokenizer."""


@dataclass
class Bundle:
    """A loaded bundle: the model in evaluation mode on the CPU, its settings and its tokenizer."""

    model: nn.Module
    config: dict
    tokenizer: Tokenizer
    metrics: dict
    folder: Path

    def check_reads_dna(self) -> None:
        """Refuse a bundle whose vocabulary is of text.

        Raises:
            InputError: Naming the bundle.
        """
        if self.tokenizer.reads != "dna":
            raise InputError(
                f"{self.folder}: a model of {self.tokenizer.reads}, not of DNA; its vocabulary cannot "
                "cut DNA into tokens"
            )

    def check_reads_text(self) -> None:
        """Refuse a bundle whose vocabulary is of DNA.

        Raises:
            InputError: Naming the bundle.
        """
        if self.tokenizer.reads != "text":
            raise InputError(
                f"{self.folder}: a model of {self.tokenizer.reads}, not of text; its vocabulary "
                "cannot cut text into tokens"
            )

    def check_text_task(self) -> None:
        """Refuse a bundle that was not fine-tuned on a text task.

        Raises:
            InputError: Naming the bundle.
        """
        self.check_reads_text()
        if self.config["task"] not in registry.tasks():
            raise InputError(
                f"{self.folder}: its task is {self.config['task']}; expected a model that was "
                "fine-tuned on a text task: dna-bigbird text --help lists train-…"
            )

    def check_single(self, purpose: str) -> None:
        """Refuse an ensemble.

        Args:
            purpose: What needs a single model, for the message.

        Raises:
            InputError: Naming the bundle.
        """
        if "members" in self.config:
            raise InputError(
                f"{self.folder}: an ensemble of {self.config['members']} models, and {purpose} "
                "takes a single one; name one of the models it was made of"
            )


def build_model(config: dict) -> nn.Module:
    """Build the model that a bundle's config describes, with fresh weights."""
    encoder = EncoderConfig(**config["encoder"])
    if config["task"] == PRETRAINING:
        return PretrainingModel(encoder, heads=config.get("heads", HEADS))
    if config["task"] in registry.tasks():
        task = registry.describe(config["task"])
        head = task.head_type()(**config["head"])
        return task.build_model(encoder, head, len(config["label_names"]))
    if "members" in config:
        single = {key: value for key, value in config.items() if key != "members"}
        return EnsembleClassifier([build_model(single) for _ in range(config["members"])])
    return SequenceClassifier(encoder, len(config["label_names"]), HeadConfig(**config["head"]))


def check_output(folder: Path) -> None:
    """Refuse to write a bundle where something else is; before a long training, not after it.

    Raises:
        InputError: If the folder holds something and is no bundle, or cannot be written.
    """
    refuse_other_folder(folder, ("config.json", WEIGHTS), "model")


def save_bundle(
    folder: Path,
    *,
    model: nn.Module,
    config: dict,
    tokenizer: Tokenizer,
    metrics: dict,
    card: str,
    extra_files: dict[str, str] | None = None,
) -> None:
    """Write a bundle, whole or not at all.

    Args:
        config: `task`, `encoder` and `head` (as dicts or the dataclasses), `label_names`,
            `label_groups`, `window_bp`, `assembly`, `semi_synthetic` and whatever else a reader
            should know. `format_version`, `dna_bigbird_version` and `sha256` are added.
        extra_files: Further text files by name, for example `history.tsv`.

    Raises:
        ValueError: If an extra file has the name of another one, or one with a folder in it.
        InputError: If the folder holds something and is no bundle, or cannot be written.
    """
    state = {name: x.cpu().contiguous() for name, x in unique_tensors(model).items()}
    # save_file would make it readable for its owner alone.
    binary = {WEIGHTS: safetensors.torch.save(state), **tokenizer.files}
    whole = {"format_version": FORMAT_VERSION, "dna_bigbird_version": __version__, "sha256": {}} | {
        key: asdict(value) if isinstance(value, EncoderConfig | HeadConfig) else value
        for key, value in config.items()
    }
    whole["sha256"] = {name: hashlib.sha256(x).hexdigest() for name, x in binary.items()}
    texts = {
        "config.json": to_json(whole),
        "metrics.json": to_json(metrics),
        "README.md": card,
    }
    for name in extra_files or {}:
        if Path(name).name != name or name in ("", "..", *binary, *texts):
            raise ValueError(f"{name!r} cannot be the name of an extra file of a bundle")
    check_output(folder)
    with atomic_directory(folder) as partial:
        for name, content in binary.items():
            (partial / name).write_bytes(content)
        for name, text in (texts | (extra_files or {})).items():
            (partial / name).write_text(text, encoding="utf-8")


def to_json(value: dict) -> str:
    """Return the JSON text that equal values always give."""
    return json.dumps(value, indent=2, sort_keys=False, ensure_ascii=False) + "\n"


def load_bundle(folder: Path | str) -> Bundle:
    """Load a bundle.

    Settings are read first, then the header of the weights; the model is built only if they agree,
    so a damaged or hostile file costs no memory.

    Raises:
        InputError: If the folder or one of its files is missing, damaged, or of a newer format,
            the weights do not fit the architecture, or a checksum differs.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such model bundle; a bundle is a folder with {FILES[0]}")
    for names in (*((name,) for name in FILES), TOKENIZER_FILES):
        if not any((folder / name).is_file() for name in names):
            raise InputError(
                f"{folder}: the bundle has no {' or '.join(names)}; expected {', '.join(FILES)} and a "
                "tokenizer. Copy it again whole"
            )
    config = read_config(folder / "config.json")
    metrics = read_bundle_json(folder / "metrics.json")
    model = _empty_model(folder, config)
    tokenizer = load_tokenizer(folder)
    if tokenizer.vocab_size > config["encoder"]["vocab_size"]:
        raise InputError(
            f"{folder}: {next(iter(tokenizer.files))} has {tokenizer.vocab_size} pieces, the model "
            f"{config['encoder']['vocab_size']}; they belong to different bundles"
        )
    if config.get("sha256") is not None:  # bundles of older versions have none
        check_sums(folder, config["sha256"], [WEIGHTS, *tokenizer.files])
    fill(model.to_empty(device="cpu"), folder / WEIGHTS)
    return Bundle(model.eval(), config, tokenizer, metrics, folder)


def _empty_model(folder: Path, config: dict) -> nn.Module:
    """Return the model of a config without memory for its weights, which fit the file's header."""
    path = folder / WEIGHTS
    shapes = stored_shapes(path)
    check_counts(shapes, config, path)
    try:
        with torch.device("meta"):
            model = build_model(config)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{folder}/config.json: it describes no model: {error}") from error
    check_shapes(model, shapes, path)
    return model


def check_sums(folder: Path, sums: dict, names: Sequence[str]) -> None:
    """Hold files against the checksums of config.json.

    Raises:
        InputError: Naming the first file that differs.
    """
    for name in names:
        path = folder / name
        found = sha256_of(path) if path.is_file() else "of no file"
        if found != sums.get(name):
            raise InputError(
                f"{path}: its sha256 is {found[:12]}, config.json has "
                f"{str(sums.get(name))[:12]}; it was changed or belongs to another bundle. Copy the "
                "bundle again whole"
            )
