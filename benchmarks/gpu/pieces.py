"""A pretrained bundle with bfloat16 weights in pieces below 16 MiB, and back.

FOLDER has config.json, metrics.json, the tokenizer, log.tsv and the bytes of model.safetensors as
model.safetensors.1-of-3, …: at most eight files. `join` makes an ordinary bundle of it.
"""

import copy
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dna_bigbird.bundles.bundle import WEIGHTS
from dna_bigbird.bundles.card import model_card
from dna_bigbird.bundles.config_file import read_config
from dna_bigbird.bundles.metrics import read_metrics
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import MODEL, RECORD, ResultFolder, atomic_directory
from dna_bigbird.corpus.tokenizer import DnaTokenizer

PIECE_BYTES, MOST_PIECES = 15 * 2**20, 4
LOG, CARD = "log.tsv", "README.md"
PIECES = ResultFolder(
    "a folder with a model in pieces",
    required=("config.json", LOG),
    others=(f"{WEIGHTS}.*-of-*", "metrics.json", "tokenizer.model"),
)


def check_size(model: nn.Module) -> None:
    """Raise InputError if the weights take more pieces than allowed."""
    megabytes = sum(2 * p.numel() for p in model.parameters()) / 2**20
    most = MOST_PIECES * PIECE_BYTES / 2**20
    if megabytes > 0.99 * most:  # the rest is for the header
        raise InputError(
            f"the weights take {megabytes:.0f} MiB in bfloat16, and {MOST_PIECES} pieces have "
            f"{most:.0f} MiB; choose a smaller --hidden_size or --layers"
        )


def has_pieces(folder: Path) -> bool:
    """Return True if a call before has written a model here."""
    return bool(_pieces(folder))


def _pieces(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{WEIGHTS}.*-of-*"))


def write_pieces(
    folder: Path,
    *,
    model: nn.Module,
    config: dict[str, Any],
    tokenizer: DnaTokenizer,
    metrics: dict[str, Any],
    log: str,
) -> None:
    """Write the folder, whole or not at all.

    Raises:
        InputError: If it holds anything that no call wrote, or cannot be written.
    """
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    with tempfile.TemporaryDirectory() as scratch, atomic_directory(folder, PIECES) as partial:
        bundle = Path(scratch) / "bundle"
        card = model_card(config, metrics)
        save_bundle(
            bundle, model=rounded, config=config, tokenizer=tokenizer, metrics=metrics, card=card
        )
        weights = (bundle / WEIGHTS).read_bytes()
        count = -(-len(weights) // PIECE_BYTES)
        for index in range(count):
            piece = weights[index * PIECE_BYTES : (index + 1) * PIECE_BYTES]
            (partial / f"{WEIGHTS}.{index + 1}-of-{count}").write_bytes(piece)
        for path in bundle.iterdir():
            if path.name not in (WEIGHTS, CARD, RECORD):
                shutil.copyfile(path, partial / path.name)
        (partial / LOG).write_text(log, encoding="utf-8")
    (folder / RECORD).unlink()  # a lent machine gives back eight files


def join(folder: Path, output: Path) -> None:
    """Write the ordinary bundle of a folder of pieces.

    Raises:
        InputError: If a piece is missing, or the output has other files than a bundle's.
    """
    pieces = _pieces(folder)
    expected = int(pieces[0].name.rpartition("-")[2]) if pieces else 1
    if len(pieces) != expected:
        raise InputError(
            f"{folder}: {len(pieces)} of {expected} pieces of {WEIGHTS} are there; copy it again whole"
        )
    MODEL.check_replaceable(output)
    card = model_card(read_config(folder / "config.json"), read_metrics(folder / "metrics.json"))
    with atomic_directory(output, MODEL) as partial:
        (partial / WEIGHTS).write_bytes(b"".join(piece.read_bytes() for piece in pieces))
        (partial / CARD).write_text(card, encoding="utf-8")
        for path in folder.iterdir():
            if path not in pieces and path.name != LOG:
                shutil.copyfile(path, partial / path.name)
