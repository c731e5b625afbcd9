"""The model bundle: a folder with everything that predicting needs (architecture §3).

    config.json         task, architecture, pattern parameters, label names, versions
    model.safetensors   weights
    tokenizer.model     SentencePiece; of a model from elsewhere tokenizer.json or spiece.model, with
                        special_tokens_map.json
    metrics.json        scores: flat keys, n, seed, split, baselines; no time, no path
    README.md           model card

An ensemble is a bundle too: its config names the number of `members`, its weights begin with
`members.0.`, `members.1.`, …

Loading runs no code from the files: JSON, safetensors and a SentencePiece model only.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import nn

from dna_bigbird import __version__
from dna_bigbird.corpus.tokenizer_files import TOKENIZER_FILES, Tokenizer, load_tokenizer
from dna_bigbird.errors import InputError
from dna_bigbird.files import atomic_directory, read_json
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.ensemble import EnsembleClassifier
from dna_bigbird.models.pretraining import HEADS, PretrainingModel

FORMAT_VERSION = 1
FILES = ("config.json", "model.safetensors", "metrics.json", "README.md")
"""What every bundle has beside its tokenizer."""
PRETRAINING = "pretraining"


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
    if "members" in config:
        single = {key: value for key, value in config.items() if key != "members"}
        return EnsembleClassifier([build_model(single) for _ in range(config["members"])])
    return SequenceClassifier(encoder, len(config["label_names"]), HeadConfig(**config["head"]))


def unique_tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the state with tied weights once, under their first name."""
    seen: set[int] = set()
    state = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            seen.add(tensor.data_ptr())
            state[name] = tensor.detach().cpu().contiguous()
    return state


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
            should know. `format_version` and `dna_bigbird_version` are added.
        extra_files: Further text files by name, for example `history.tsv`.
    """
    whole = {"format_version": FORMAT_VERSION, "dna_bigbird_version": __version__} | {
        key: asdict(value) if isinstance(value, EncoderConfig | HeadConfig) else value
        for key, value in config.items()
    }
    with atomic_directory(folder) as partial:
        # save_file would make it readable for its owner alone.
        weights = safetensors.torch.save(unique_tensors(model))
        (partial / "model.safetensors").write_bytes(weights)
        for name, content in tokenizer.files.items():
            (partial / name).write_bytes(content)
        (partial / "config.json").write_text(to_json(whole))
        (partial / "metrics.json").write_text(to_json(metrics))
        (partial / "README.md").write_text(card)
        for name, text in (extra_files or {}).items():
            (partial / name).write_text(text)


def to_json(value: dict) -> str:
    """Return the JSON text that equal values always give."""
    return json.dumps(value, indent=2, sort_keys=False, ensure_ascii=False) + "\n"


def load_bundle(folder: Path | str) -> Bundle:
    """Load a bundle.

    Raises:
        InputError: If the folder or one of its files is missing, damaged, or of a newer format,
            or the weights do not fit the architecture.
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
    config = read_json(folder / "config.json")
    if config.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{folder}/config.json: format_version is {config.get('format_version')!r}, this version "
            f"reads {FORMAT_VERSION}. Is the bundle from a newer dna-bigbird?"
        )
    try:
        model = build_model(config)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder}/config.json: it describes no model: {error!r}") from error
    load_weights(model, folder / "model.safetensors")
    tokenizer = load_tokenizer(folder)
    if tokenizer.vocab_size > config["encoder"]["vocab_size"]:
        raise InputError(
            f"{folder}: {next(iter(tokenizer.files))} has {tokenizer.vocab_size} pieces, the model "
            f"{config['encoder']['vocab_size']}; they belong to different bundles"
        )
    return Bundle(model.eval(), config, tokenizer, read_json(folder / "metrics.json"), folder)


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill a model with the weights of a safetensors file.

    Raises:
        InputError: If the file is damaged or its tensors do not fit the model.
    """
    try:
        state = safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise InputError(f"{path}: damaged weights ({error}). Copy the bundle again") from error
    expected = {name: tensor.shape for name, tensor in unique_tensors(model).items()}
    found = {name: tensor.shape for name, tensor in state.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise InputError(
                f"{path}: tensor {name!r} is {found.get(name, 'missing')}, the architecture in "
                f"config.json wants {expected.get(name, 'none')}; they belong to different bundles"
            )
    model.load_state_dict(state, strict=False)
