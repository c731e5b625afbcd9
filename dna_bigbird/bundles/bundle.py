"""The model bundle: a folder with everything that predicting needs.

    config.json         task, architecture, pattern parameters, label names, versions, sha256 of the
                        weights and the tokenizer
    model.safetensors   weights
    tokenizer.model     SentencePiece; of a converted model tokenizer.json or spiece.model, with
                        special_tokens_map.json
    metrics.json        scores: flat keys, n, seed, split, baselines; no time, no path
    README.md           model card
    sequences_read.safetensors
                        hashes of the sequences without coordinates that were read, if there are any
    text_read.safetensors
                        token ids of the training text, of a masked model that copies from it

An ensemble is a bundle too: its config has the number of `members`, its weights begin with
`members.0.`, `members.1.`, …

Loading runs no code from the files: JSON, safetensors and a SentencePiece model only
(docs/explanation/files-and-safety.md). This module loads torch only in `load_bundle`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dna_bigbird.bundles.bundled import folder_of
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.config_file import read_bundle_json, read_config
from dna_bigbird.bundles.metrics import Metrics, read_metrics
from dna_bigbird.bundles.read_text_file import TEXT, read_text
from dna_bigbird.bundles.seen_sequences import SEQUENCES, no_sequences, read_sequences
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.results import brief, representation
from dna_bigbird.corpus.tokenizer_files import TOKENIZER_FILES, Tokenizer, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

WEIGHTS = "model.safetensors"
FILES = ("config.json", WEIGHTS, "metrics.json", "README.md")
"""Files of every bundle; the tokenizer has several possible names."""
CHARACTERS = "characters"
"""Task in config.json of a character model."""


@dataclass
class Bundle:
    """A loaded bundle: the model in evaluation mode on the CPU, its settings and its tokenizer."""

    model: "nn.Module"
    config: BundleConfig
    tokenizer: Tokenizer
    metrics: Metrics
    folder: Path
    sequences_read: "NDArray[np.uint64]" = field(default_factory=no_sequences)
    """Hashes of the sequences without coordinates that were read in fine-tunings, rising, each once."""

    def __repr__(self) -> str:
        numbers = sum(weights.numel() for weights in self.model.parameters())
        return representation(
            self,
            brief(self.folder),
            self.config.task,
            f"{numbers / 1e6:.1f} M parameters",
            label_names=self.config.label_names,
            window_bp=self.config.window_bp,
            tokenizer=self.tokenizer,
        )

    def check_reads_dna(self) -> None:
        """Raise InputError if the vocabulary is of text."""
        self._check_reads("dna", "DNA")

    def check_reads_text(self) -> None:
        """Raise InputError if the vocabulary is of DNA."""
        self._check_reads("text", "text")

    def _check_reads(self, expected: str, name: str) -> None:
        if self.tokenizer.reads != expected:
            raise InputError(
                f"{self.folder}: a model of {self.tokenizer.reads}, not of {name}; its vocabulary cannot "
                f"cut {name} into tokens"
            )

    def check_text_task(self) -> None:
        """Raise InputError if the model was not fine-tuned on a text task."""
        self.check_reads_text()
        if not self.config.is_text_task:
            raise InputError(
                f"{self.folder}: its task is {self.config.task}; expected a model that was "
                "fine-tuned on a text task. See: dna-bigbird text train --help"
            )

    def check_single(self, purpose: str) -> None:
        """Raise InputError, naming what needs a single model, if the bundle is an ensemble."""
        if self.config.members is not None:
            raise InputError(
                f"{self.folder}: an ensemble of {self.config.members} models, and {purpose} "
                "takes a single model; name one of its members"
            )


def load_bundle(folder: Path | str) -> Bundle:
    """Load a bundle: a folder, or the name of a model of the package, such as `bundled-tata`.

    Settings are read first, then the header of the weights; the model is built only if they agree,
    so a damaged or hostile file costs no memory.

    Raises:
        InputError: If the folder or one of its files is missing, damaged, or of a newer format,
            the weights do not fit the architecture, or a checksum differs.
    """
    from dna_bigbird.bundles.weights import empty_model, fill

    folder = folder_of(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such model bundle; a bundle is a folder with {FILES[0]}")
    for names in (*((name,) for name in FILES), TOKENIZER_FILES):
        if not any((folder / name).is_file() for name in names):
            if is_character_model(folder):
                raise InputError(
                    f"{folder}: a character model, which evaluate-characters scores; expected a bundle "
                    "of pretrain, finetune, text pretrain or text train"
                )
            raise InputError(
                f"{folder}: the bundle has no {' or '.join(names)}; expected {', '.join(FILES)} and a "
                "tokenizer. Copy it again whole"
            )
    config = read_config(folder / "config.json")
    metrics = read_metrics(folder / "metrics.json")
    model = empty_model(folder, config, WEIGHTS)
    tokenizer = load_tokenizer(folder)
    if tokenizer.vocab_size > config.encoder.vocab_size:
        raise InputError(
            f"{folder}: {next(iter(tokenizer.files))} has {tokenizer.vocab_size} pieces, the model "
            f"{config.encoder.vocab_size}; they belong to different bundles"
        )
    if config.sha256 is not None:  # bundles of older versions have none
        more = [SEQUENCES] if config.n_sequences_read else []
        more += [TEXT] if config.copies else []
        check_sums(folder, config.sha256, [WEIGHTS, *tokenizer.files, *more])
    sequences = read_sequences(folder / SEQUENCES, config.n_sequences_read)
    fill(model.to_empty(device="cpu"), folder / WEIGHTS)
    if config.copies is not None:
        copies: Any = model.copies
        copies.text = read_text(
            folder / TEXT, config.encoder.vocab_size, len(config.copies.chromosomes)
        )
    return Bundle(model.eval(), config, tokenizer, metrics, folder, sequences)


def is_character_model(folder: Path) -> bool:
    """Return True for a folder of `train-characters`, not a bundle."""
    path = folder / FILES[0]
    return path.is_file() and read_bundle_json(path).get("task") == CHARACTERS


def check_sums(folder: Path, sums: Mapping[str, str], names: Sequence[str]) -> None:
    """Compare files with the checksums of config.json."""
    for name in names:
        path = folder / name
        actual = sha256_of(path) if path.is_file() else "of no file"
        if actual != sums.get(name):
            raise InputError(
                f"{path}: its sha256 is {actual[:12]}, config.json has "
                f"{str(sums.get(name))[:12]}; it was changed or belongs to another bundle. Copy the "
                "bundle again whole"
            )
