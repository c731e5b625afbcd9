"""Checks before a training: the labelled set, the attention backend, the compiler."""

import hashlib
from pathlib import Path

import numpy as np
import torch
from torch import nn

from dna_bigbird.attention.autotune import Choice, Device, ShapeClass, choose
from dna_bigbird.attention.autotune_timing import measure_on_gpu
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.tokenized import RowsOnTheFly
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.flops import encoder_flops
from dna_bigbird.models.label_types import REGRESSION
from dna_bigbird.models.precision import BFLOAT16
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import machine
from dna_bigbird.training.run_folder import BACKEND, read_chosen

# The attention backend of a training on a GPU: chosen once by one process, and kept by the run.

MEASURING_S = 120.0
"""What measuring may take: FlexAttention compiles for each kind of problem and searches tiles."""
ASSUMED_RATE = 1e14
"""Operations a second of a GPU, to tell minutes from days."""


def backend_for(
    encoder: EncoderConfig, *, in_bfloat16: bool, training: bool, operations: float
) -> Choice:
    """Choose for sequences of `max_tokens`; work of few operations in all measures nothing."""
    shape = ShapeClass.of(
        torch.bfloat16 if in_bfloat16 else torch.float32,
        encoder.hidden_size // encoder.num_heads,
        encoder.block_size,
        encoder.max_tokens,
        training,
    )
    is_long = operations / ASSUMED_RATE > MEASURING_S
    return choose(shape, Device.here(), measure_on_gpu if is_long else None)


def is_backend_open(model: nn.Module, config: TrainConfig, device: str) -> bool:
    """Return True if a backend is to be chosen: on a GPU, where none is named."""
    encoder = getattr(model, "encoder", None)
    return (
        device == "cuda"
        and config.attention_backend == "auto"
        and isinstance(encoder, Encoder)
        and encoder.config.attention == "bigbird"
        and not encoder.config.attention_dropout
    )


def choose_backend(model: nn.Module, config: TrainConfig) -> dict[str, str]:
    """Choose and note the backend of a training, as settings.json records it."""
    sequences = config.max_steps * config.batch_size * config.accumulate
    choice = backend_for(
        model.encoder.config,
        in_bfloat16=config.precision == BFLOAT16,
        training=True,
        operations=3 * encoder_flops(model.encoder, model.encoder.config.max_tokens) * sequences,
    )
    note(
        f"attention backend {choice.backend}: {choice.why}; --training.attention_backend names one"
    )
    return {BACKEND: choice.backend}


def apply_backend(model: nn.Module, folder: Path) -> None:
    """Let a model compute with the backend that its run began with, or raise InputError."""
    name = read_chosen(folder).get(BACKEND)
    if name is None:
        return
    try:
        model.encoder.set_backend(name)
    except (ValueError, InputError) as error:
        raise InputError(
            f"{folder}: this run began with attention backend {name!r}, which it cannot go on with here "
            f"({error}). Continue on a machine like the first one, or begin again with other --checkpoints"
        ) from None


DRAWN_WINDOWS = 16
"""Windows whose tokens are drawn before a training, to see whether they fit."""


def check_trainable(labelled: LabelledSet) -> None:
    """Raise InputError if a split is empty, or its labels are all the same."""
    for split in ("train", "validation"):
        rows = labelled.rows(split)
        if not len(rows):
            raise InputError(
                f"{labelled.path}: no row in the {split} split; build the set with other regions "
                "for its splits"
            )
        if labelled.num_bins:
            _check_tracks(labelled)
            continue
        if labelled.label_type == REGRESSION:
            if not labelled.labels_of(rows).std(axis=0).all():
                raise InputError(
                    f"{labelled.path}: a target is the same in all {len(rows)} {split} rows; build the set "
                    "with other splits"
                )
            continue
        labels = labelled.packed_labels.keep(rows)
        positives = labels.positives()
        if not ((positives > 0) & (positives < labels.measured())).any():
            raise InputError(
                f"{labelled.path}: no label has both positives and negatives among the {len(rows)} "
                f"{split} rows; build the set with other regions for its splits"
            )


def _check_tracks(labelled: LabelledSet) -> None:
    """Raise InputError for a track whose training bins are all the same, or have a negative value."""
    for name, std, least in zip(
        labelled.label_names,
        labelled.track_training.std,
        labelled.track_training.least,
        strict=True,
    ):
        if not std > 0:
            raise InputError(
                f"{labelled.path}: track {name!r} is the same in all training bins; leave it out"
            )
        if least < 0:
            raise InputError(
                f"{labelled.path}: track {name!r} has a negative value ({least:g}), and a model predicts coverage, "
                "at least 0; leave it out"
            )


def set_training_backend(encoder: Encoder, name: str) -> None:
    """Choose the attention backend for a training on this machine, or raise InputError."""
    on_gpu, dropout = torch.cuda.is_available(), encoder.config.attention_dropout
    option = f"--training.attention_backend {name}"
    if not encoder.config.has_blocks:
        encoder.set_backend(name)
        return
    if name == "flex" and not on_gpu:
        raise InputError(f"{option} has no backward pass on a CPU; use auto, cpu_chunks or gather")
    if name in ("cpu_chunks", "native") and on_gpu:
        raise InputError(f"{option} runs on a CPU, and training takes the GPU; use flex or gather")
    if name == "triton" and not on_gpu:
        raise InputError(
            f"{option} runs on a GPU, and there is none; use auto, native or cpu_chunks"
        )
    if name in ("flex", "cpu_chunks", "native", "triton") and dropout:
        raise InputError(f"{option} has no dropout, the model's attention_dropout is {dropout}")
    encoder.set_backend(name)


def check_compiles(training: TrainConfig) -> None:
    """Raise InputError with what is missing if --training.compile cannot compile here."""
    if training.compile and (missing := machine.flex_obstacle(machine.this_machine())):
        raise InputError(f"--training.compile true cannot compile here: {missing}; leave it out")


def check_no_dropout(training: TrainConfig) -> None:
    """Raise InputError if tokens or windows are to be drawn where they come from a file."""
    if training.max_shift:
        raise InputError(
            f"--training.max_shift {training.max_shift} is for finetune; these tokens are read from a "
            "store: leave it out"
        )
    if training.bpe_dropout:
        raise InputError(
            f"--training.bpe_dropout {training.bpe_dropout:g} is for finetune; these tokens are read "
            "from a store: leave it out"
        )


def check_drawn_windows(rows: RowsOnTheFly) -> None:
    """Raise InputError if drawn tokens of some windows are more than the model reads."""
    for index in range(min(DRAWN_WINDOWS, len(rows))):
        rng = np.random.default_rng([rows.seed, index])
        count = len(rows.dropout.encode(rows.data.sequence(int(rows.rows[index])), rng)) + 2
        if count > rows.max_tokens:
            raise InputError(
                f"{rows.name}: with --training.bpe_dropout {rows.dropout.share:g} a window of "
                f"{rows.data.window_bp} bp has {count} tokens, the model reads at most "
                f"{rows.max_tokens}. Build the set with a smaller window, or give a smaller share"
            )


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
