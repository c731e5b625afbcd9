"""Checks before a training: the labelled set, the attention backend, the compiler."""

import hashlib

import numpy as np
import torch
from torch import nn

from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.errors import InputError
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.pipeline import machine
from dna_bigbird.tasks.config import TrainConfig


def check_trainable(labelled: LabelledSet) -> None:
    """Raise InputError if a split is empty, or no label has positives and negatives in it."""
    for split in ("train", "validation"):
        rows = labelled.rows(split)
        if not len(rows):
            raise InputError(
                f"{labelled.path}: no row in the {split} split; build the set with other regions "
                "for its splits"
            )
        positives = labelled.packed_labels.positives(rows)
        if not ((positives > 0) & (positives < len(rows))).any():
            raise InputError(
                f"{labelled.path}: no label has both positives and negatives among the {len(rows)} "
                f"{split} rows; build the set with other regions for its splits"
            )


def set_training_backend(encoder: Encoder, name: str) -> None:
    """Choose the attention backend for a training on this machine.

    Raises:
        InputError: If that backend cannot train this model on this machine.
    """
    on_gpu, dropout = torch.cuda.is_available(), encoder.config.attention_dropout
    option = f"--training.attention_backend {name}"
    if name == "flex" and not on_gpu:
        raise InputError(f"{option} has no backward pass on a CPU; use auto, merged or gather")
    if name in ("merged", "native") and on_gpu:
        raise InputError(f"{option} runs on a CPU, and training takes the GPU; use flex or gather")
    if name in ("flex", "merged", "native") and dropout:
        raise InputError(f"{option} has no dropout, the model's attention_dropout is {dropout}")
    encoder.set_backend(name)


def check_compiles(training: TrainConfig) -> None:
    """Raise InputError with what is missing if --training.compile cannot compile here."""
    if training.compile and (missing := machine.flex_obstacle(machine.this_machine())):
        raise InputError(f"--training.compile true cannot compile here: {missing}; leave it out")


def validation_rows(labelled: LabelledSet, limit: int, seed: int) -> np.ndarray:
    """Return the validation rows in order, or `limit` of them drawn at random once (0: all)."""
    rows = labelled.rows("validation")
    if not 0 < limit < len(rows):
        return rows
    return np.sort(np.random.default_rng([seed, 2]).choice(rows, size=limit, replace=False))


def module_sha256(module: nn.Module) -> str:
    """Return a checksum of a module's weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy())
    return digest.hexdigest()
