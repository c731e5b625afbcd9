"""Training on a labelled set, for any model: shared by `finetune` and `baseline`."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from lightning_fabric.utilities.rank_zero import rank_zero_only
from torch import Tensor, nn

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.corpus.batches import LabelledBatch
from dna_bigbird.corpus.piece_dropout import PieceDropout
from dna_bigbird.labelled.chromatin.bin_groups import BinGroups
from dna_bigbird.labelled.labelled_data import standardisation
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.set_files import few_positives
from dna_bigbird.labelled.tokenized import RowsOnTheFly, ShiftedRows, TokenizedRows, tokenize_rows
from dna_bigbird.metrics.label_objectives import (
    IndependentLabels,
    LabelObjective,
    OneClass,
    Targets,
    TrackValues,
)
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import bases_of_pieces
from dna_bigbird.models.label_types import BINARY, MULTI_CLASS, MULTI_LABEL, REGRESSION, TRACKS
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.bin_kmers import fit_bin_kmers, rows_by_signal
from dna_bigbird.training.data_modules import labelled_data
from dna_bigbird.training.fit import FitResult, fit
from dna_bigbird.training.objective import Objective, Sums, pair
from dna_bigbird.training.probe import init_from_probe, products_in
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.training_checks import (
    check_compiles,
    check_drawn_windows,
    check_trainable,
    validation_rows,
)

# Labels of DNA windows: one label, many labels, classes, targets.

# B batch, T tokens, L labels


class LabelModule(Objective):
    """The loss of a `LabelObjective`, by default independent labels; its score chooses the step."""

    # Validation reads the forward strand only, to be cheap.

    example = "window"
    mode = "max"
    packs_ahead = True

    def __init__(
        self, model: nn.Module, config: TrainConfig, objective: LabelObjective | None = None
    ) -> None:
        super().__init__(model, config)
        self.objective = objective or IndependentLabels(config.positive_weight)
        self.monitor = self.objective.monitor
        self._seen: list[tuple[Tensor, Tensor]] = []

    def logits_and_loss(self, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        """Return logits (B, L) in float32 and the mean loss; over bins if the batch names them."""
        more = {"bins_P2": batch.bins_P2} if len(batch.bins_P2) else {}
        logits_BL = self.model(
            batch.token_ids_BT, batch.is_padding_BT, **self.planned(batch), **more
        ).float()
        return logits_BL, self.objective.loss(logits_BL, batch.labels_BL)

    def loss_and_sums(self, batch: LabelledBatch) -> tuple[Tensor, Sums]:
        """Return the loss and its sum over rows (or bins)."""
        logits_BL, loss = self.logits_and_loss(batch)
        if not self.training:
            self._seen.append((logits_BL.detach(), batch.labels_BL))
        # Rows, or less where labels were not measured: the ratio of the sums is the mean over measured cells.
        rows = (~batch.labels_BL.isnan()).sum() / batch.labels_BL.shape[-1]
        return loss, {"loss": pair(loss * rows, rows)}

    def on_validation_epoch_start(self) -> None:
        """Forget the rows of the validation before."""
        super().on_validation_epoch_start()
        self._seen = []

    def on_validation_epoch_end(self) -> None:
        """Add the scores over all rows of all processes."""
        super().on_validation_epoch_end()
        logits = torch.cat([logits for logits, _ in self._seen]).cpu().numpy()
        labels = torch.cat([labels for _, labels in self._seen]).cpu().numpy()
        if self.trainer.world_size > 1:
            parts: list = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, (logits, labels))
            logits = np.concatenate([part[0] for part in parts])
            labels = np.concatenate([part[1] for part in parts])
        self.validation_metrics |= self.objective.scores(labels, logits)
        self._seen = []


@torch.no_grad()
def start_at_shares(layer: nn.Linear, rows_L: np.ndarray) -> None:
    """Let the last layer of a model give every row the shares of the classes."""
    # One half is added to the rows of each class, so that no share is 0.
    shares_L = (rows_L + 0.5) / (rows_L + 0.5).sum()
    layer.weight.zero_()
    layer.bias.copy_(torch.from_numpy(np.log(shares_L)))


@torch.no_grad()
def start_at_base_rates(
    layer: nn.Linear, positives_L: np.ndarray, rows_L: np.ndarray, *, positive_weight: float = 1.0
) -> None:
    """Let the last layer of a model give every row the best constant logits; `rows_L`: measured ones."""
    # With positives weighted by w, those of a label with share s are log(w * s / (1 - s)). One half
    # positive and one half negative row more keep each s from 0 and 1.
    odds_L = (positives_L + 0.5) / (rows_L - positives_L + 0.5)
    layer.weight.zero_()
    layer.bias.copy_(torch.from_numpy(np.log(positive_weight * odds_L)))


def note_few_positives(count: int, name: object) -> None:
    """Tell the user, once for all processes, of a validation split with too few positives."""
    if rank_zero_only.rank in (None, 0) and (text := few_positives(count, name)):
        note(text)


if TYPE_CHECKING:
    import numpy as np
    from torch import nn


def train_on_labels(
    model: nn.Module,
    labelled: LabelledSet,
    tokenizer: object,
    training: TrainConfig,
    *,
    max_tokens: int,
    checkpoints: Path,
    seed: int,
    settings: dict,
    leaves_out_frozen: bool = False,
    bins_at_once: bool = False,
    track_loss: str = "poisson",
    kmers: KmerHeadConfig | None = None,
) -> tuple[LabelModule, FitResult, int]:
    """Train a model on a labelled set; return task, result and number of validation rows."""
    # `settings` is what else decides the result. Killed and called again it continues. The task's
    # model has the weights of the step with the highest score on validation.
    check_trainable(labelled)
    rows = validation_rows(labelled, training.validation_examples, seed)
    objective = objective_for(labelled, training, track_loss)
    if labelled.label_type in (BINARY, MULTI_LABEL):
        note_few_positives(int(labelled.packed_labels.positives(rows).sum()), labelled.path)
    check_compiles(training)
    groups = BinGroups.of(labelled, labelled.rows("train")) if bins_at_once else None
    train, validation = tokenized_splits(
        labelled, tokenizer, training, max_tokens=max_tokens, seed=seed, groups=groups
    )
    data = labelled_data(
        train,
        validation,
        seed=seed,
        batch_size=training.batch_size,
        both_strands=training.both_strands,
        accumulate=training.accumulate,
        workers=training.workers,
        groups=groups,
    )
    # The set has a checksum of its genome, and opening it compares the two.
    inputs = {"data": sha256_of(labelled.path), **settings.get("inputs", {})}
    if kmers is not None:
        score = fit_bin_kmers(
            model,
            kmers,
            bases_of_pieces(tokenizer.pieces, tokenizer.piece_bp),
            train,
            validation,
            objective,
            num_rows=len(labelled.rows("train")),
            seed=seed,
            progress=partial(progress_bar, desc="count k-mers"),
        )
        if is_first_on_node():
            note(
                f"k-mers and filters around bins alone: {objective.monitor} {score:.4f} on validation"
            )
    if training.start_at_base_rates:
        set_label_biases(model, labelled, training.positive_weight)
    if training.start_at_probe:
        fit_last_layer(model, train, validation, objective, training)
    task = LabelModule(model, training, objective)
    task.leaves_out_frozen = leaves_out_frozen
    settings = {**settings, "inputs": inputs}
    result = fit(task, data, training, checkpoints=checkpoints, seed=seed, settings=settings)
    return task, result, len(validation)


def fit_last_layer(
    model: nn.Module,
    train: TokenizedRows | RowsOnTheFly,
    validation: TokenizedRows,
    objective: LabelObjective,
    training: TrainConfig,
) -> None:
    """Begin with the best last layer for the encoder as it is, and note its score."""
    if not hasattr(model, "encoder"):
        raise InputError("--training.start_at_probe is for a pretrained encoder, not for a network")
    scores = init_from_probe(
        model,
        train,
        validation,
        objective,
        strands="+-" if training.both_strands else "+",
        precision=products_in(training.precision),
        progress=partial(progress_bar, desc="probe"),
    )
    if is_first_on_node():
        name, score = list(scores.items())[1]
        note(f"start at the probe: {name} {score:.4f} on validation, penalty {scores['penalty']:g}")


def objective_for(
    labelled: LabelledSet, training: TrainConfig, track_loss: str = "poisson"
) -> LabelObjective:
    """Return the loss and the scores for the labels of a set."""
    if labelled.label_type in (BINARY, MULTI_LABEL):
        return IndependentLabels(training.positive_weight)
    if training.positive_weight != 1:
        raise InputError(
            f"--training.positive_weight {training.positive_weight:g} is for labels of 0 and 1; "
            f"{labelled.path} is a set of type {labelled.label_type}"
        )
    if labelled.label_type == MULTI_CLASS:
        return OneClass()
    if labelled.label_type == TRACKS:
        return TrackValues(
            labelled.track_training.mean.tolist(), labelled.track_training.std.tolist(), track_loss
        )
    return Targets(*standardisation(labelled.labels_of(labelled.rows("train"))))


def set_label_biases(model: nn.Module, labelled: LabelledSet, positive_weight: float) -> None:
    """Let the untrained model predict each label or class as often as it occurs in training."""
    if labelled.label_type == REGRESSION:
        return
    if labelled.label_type == TRACKS:
        with torch.no_grad():
            model.label_layer.weight.zero_()
            # Alone, softplus gives 1, the mean; next to k-mers it adds to theirs.
            model.label_layer.bias.fill_(0 if model.words else math.log(math.e - 1))
        return
    rows = labelled.rows("train")
    if labelled.label_type == MULTI_CLASS:
        start_at_shares(model.label_layer, labelled.packed_labels.positives(rows))
        return
    labels = labelled.packed_labels.keep(rows)
    start_at_base_rates(
        model.label_layer, labels.positives(), labels.measured(), positive_weight=positive_weight
    )


def tokenized_splits(
    labelled: LabelledSet,
    tokenizer: object,
    training: TrainConfig,
    *,
    max_tokens: int,
    seed: int,
    groups: BinGroups | None = None,
) -> tuple[TokenizedRows | RowsOnTheFly, TokenizedRows]:
    """Return the training rows (or windows, `groups`) and the validation rows as token ids."""
    # Validation is read many times and is small: it is always tokenized once, without dropout.
    limits = {"max_tokens": max_tokens, "name": str(labelled.path)}

    def tokenize_once(split: str, rows, both_strands: bool) -> TokenizedRows:
        return tokenize_rows(
            labelled,
            rows,
            tokenizer,
            both_strands=both_strands,
            progress=partial(progress_bar, desc=f"tokenize {split}"),
            **limits,
        )

    train = labelled.rows("train") if groups is None else groups.centres
    if labelled.num_bins:
        train = rows_by_signal(labelled)
    validation = validation_rows(labelled, training.validation_examples, seed)
    if training.bpe_dropout or training.max_shift:
        train_rows = drawn_rows(labelled, train, tokenizer, training, seed=seed, **limits)
    elif training.tokenize == "on_the_fly":
        train_rows = RowsOnTheFly(labelled, train, tokenizer, **limits)
    else:
        train_rows = tokenize_once("train", train, training.both_strands)
    return train_rows, tokenize_once("validation", validation, False)


def drawn_rows(
    labelled: LabelledSet,
    rows: np.ndarray,
    tokenizer: object,
    training: TrainConfig,
    *,
    seed: int,
    **limits: object,
) -> RowsOnTheFly:
    """Return training rows whose windows or tokens are drawn for every example."""
    share, most = training.bpe_dropout, training.max_shift
    dropout = PieceDropout(tokenizer, share) if share else None
    if most >= labelled.window_bp:
        raise InputError(
            f"--training.max_shift {most}: the windows of {labelled.path} are {labelled.window_bp} bp; "
            "expected less"
        )
    shifts = ShiftedRows(labelled, rows, most, seed) if most else None
    if shifts is not None and not shifts.from_genome and is_first_on_node():
        note(
            f"{labelled.path}: not all training rows have {most} bp of genome on both sides; "
            "--training.max_shift moves each window within itself, with N at the free end"
        )
    drawn = RowsOnTheFly(
        labelled, rows, tokenizer, dropout=dropout, seed=seed, shifts=shifts, **limits
    )
    if dropout is not None:
        check_drawn_windows(drawn)
    return drawn
