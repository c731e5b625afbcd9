"""Writing a bundle: of a trained model, or of one with new scores."""

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
from numpy.typing import NDArray
from torch import nn

from dna_bigbird import __version__
from dna_bigbird.bundles.bundle import FILES, WEIGHTS
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.bundles.read_text_file import TEXT
from dna_bigbird.bundles.read_text_file import to_bytes as text_to_bytes
from dna_bigbird.bundles.seen_sequences import SEQUENCES, no_sequences, to_bytes
from dna_bigbird.bundles.weights import unique_tensors
from dna_bigbird.core.result_folders import MODEL, atomic_directory
from dna_bigbird.corpus.tokenizer_files import TOKENIZER_FILES, Tokenizer


def save_bundle(
    folder: Path,
    *,
    model: nn.Module,
    config: BundleConfig | Mapping[str, Any],
    tokenizer: Tokenizer,
    metrics: Metrics | Mapping[str, Any],
    card: str,
    extra_files: dict[str, str] | None = None,
    sequences_read: NDArray[np.uint64] | None = None,
) -> None:
    """Write a bundle, whole or not at all.

    Args:
        config: Settings, or their values by the keys of config.json: `task`, `encoder` and `head` (as
            objects or dataclasses), `label_names`, `window_bp`, `assembly`, `semi_synthetic` and
            others. `format_version`, `dna_bigbird_version` and `sha256`
            are added.
        metrics: Scores, or their values by the keys of metrics.json.
        extra_files: Further text files by name, for example `history.tsv`.
        sequences_read: Hashes of the sequences without coordinates that the model has read, rising,
            each once; as many as `n_sequences_read` of the settings.

    Raises:
        ValueError: If an extra file has the name of another one, or one with a folder in it, or if the
            number of hashes differs from the settings.
        InputError: If the folder holds anything that no run wrote, or cannot be written.
    """
    state = {name: x.cpu().contiguous() for name, x in unique_tensors(model).items()}
    # save_file would make it readable for its owner alone.
    binary = {WEIGHTS: safetensors.torch.save(state), **tokenizer.files}
    config = BundleConfig.from_json(config)
    hashes = no_sequences() if sequences_read is None else sequences_read
    if len(hashes) != config.n_sequences_read:
        raise ValueError(
            f"n_sequences_read of the settings is {config.n_sequences_read}, but there are {len(hashes)} "
            "hashes; give sequences_read of the bundle that has these settings"
        )
    if len(hashes):
        binary[SEQUENCES] = to_bytes(hashes)
    if config.copies is not None:
        binary[TEXT] = text_to_bytes(model.copies.text, config.encoder.vocab_size)
    version = config.needed_version
    first = {"format_version": version, "dna_bigbird_version": __version__, "sha256": {}}
    config = BundleConfig.from_json({**first, **config})
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in binary.items()}
    texts = {
        "config.json": config.with_values(sha256=sums).to_json(),
        "metrics.json": Metrics.from_json(metrics).to_json(),
        "README.md": card,
    }
    for name in extra_files or {}:
        if Path(name).name != name or name in ("", "..", *binary, *texts):
            raise ValueError(f"{name!r} cannot be the name of an extra file of a bundle")
    with atomic_directory(folder, MODEL) as partial:
        for name, content in binary.items():
            (partial / name).write_bytes(content)
        for name, text in (texts | (extra_files or {})).items():
            (partial / name).write_text(text, encoding="utf-8")


def write_scored_bundle(
    trained: Path, output: Path, metrics: Metrics | Mapping[str, Any], card: str
) -> None:
    """Write a bundle again with new scores and card; weights are hard-linked where possible."""
    texts = {"metrics.json": Metrics.from_json(metrics).to_json(), "README.md": card}
    copy_bundle(trained, output, texts, _link_or_copy)


def copy_bundle(
    source: Path,
    output: Path,
    changed: Mapping[str, str],
    copy: Callable[[Path, Path], object] = shutil.copyfile,
) -> None:
    """Write a bundle again, with other texts of some files."""
    with atomic_directory(output, MODEL) as partial:
        optional = (*TOKENIZER_FILES, "special_tokens_map.json", SEQUENCES, TEXT)
        for name in (*FILES, *(name for name in optional if (Path(source) / name).is_file())):
            if name in changed:
                (partial / name).write_text(changed[name], encoding="utf-8")
            else:
                copy(Path(source) / name, partial / name)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source.resolve(), target)  # not a link to a file: it may be relative
    except OSError:
        shutil.copyfile(source, target)
