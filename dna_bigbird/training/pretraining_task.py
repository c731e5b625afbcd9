"""Masked tokens and, with a weight, next-sentence prediction (specification §1.6, §7)."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from dna_bigbird.corpus.batches import PretrainingBatch
from dna_bigbird.models.copies import Copied
from dna_bigbird.models.pretraining_model import HiddenSentences
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective import Objective, Sums, pair

# S hidden sentences of this process, N those of all processes, E size of a vector
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


class Contrast(NamedTuple):
    """How well the context of each hidden sentence tells its target from the others."""

    nll_S: Tensor
    """Negative log-probability of the true target, in nats."""
    is_right_S: Tensor
    """Whether the true target is the most similar one."""
    num_targets: int
    """N; a guess is right with chance 1 / N."""


def contrast(context_SE: Tensor, target_SE: Tensor, *, gather: bool) -> Contrast:
    """Compare contexts with targets: softmax over the products, as in a dual encoder."""
    # Products are divided by √E, as in attention: without it large products of fresh vectors made
    # training fall back to guessing (docs/explanation/bigbird-etc.md). With `gather` all processes call it, also those
    # without a hidden sentence: targets of the others count too, gradients included.
    targets_NE, first = _gathered(target_SE) if gather else (target_SE, 0)
    with torch.autocast(context_SE.device.type, enabled=False):
        logits_SN = context_SE.float() @ targets_NE.float().T / context_SE.shape[1] ** 0.5
    own_S = torch.arange(first, first + len(context_SE), device=logits_SN.device)
    if not len(context_SE):
        return Contrast(logits_SN.sum(1), own_S.bool(), len(targets_NE))
    nll_S = nn.functional.cross_entropy(logits_SN, own_S, reduction="none")
    return Contrast(nll_S, logits_SN.argmax(1) == own_S, len(targets_NE))


def loss_of(result: Contrast) -> Tensor:
    """Return the mean over the sentences of all processes, as this process has to count it."""
    # Lightning takes the mean of the processes' gradients; each sentence of any process weighs 1 /
    # N.
    return result.nll_S.sum() * (_processes() / max(result.num_targets, 1))


def figures_of(result: Contrast) -> Sums:
    """Return `cpc_loss` in nats, `cpc_accuracy` and `cpc_chance`, what guessing would reach."""
    count = len(result.nll_S)
    chance = result.nll_S.new_tensor(count / max(result.num_targets, 1))
    return {
        "cpc_loss": pair(result.nll_S.double().sum(), count),
        "cpc_accuracy": pair(result.is_right_S.sum(), count),
        "cpc_chance": pair(chance, count),
    }


def hidden_of(batch: Any) -> dict[str, HiddenSentences]:
    """Return the keyword of a model for the hidden sentences of a batch; nothing if it has no such fields."""
    return {"hidden": HiddenSentences.of(batch)} if hasattr(batch, "sentences_BT") else {}


def copied_of(batch: Any) -> dict[str, Copied]:
    """Return the keyword of a model for what copies say at the predicted tokens of a batch; nothing without copies."""
    if not len(getattr(batch, "copied_PK", ())):
        return {}
    return {"copied": Copied(batch.copied_PK, batch.copied_scores_PKF)}


def _processes() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def _gathered(target_SE: Tensor) -> tuple[Tensor, int]:
    """Return the targets of all processes in their order, and the place of this process's first."""
    if _processes() == 1:
        return target_SE, 0
    own = torch.tensor([len(target_SE)], device=target_SE.device)
    counts = [torch.zeros_like(own) for _ in range(_processes())]
    dist.all_gather(counts, own)
    sizes = [int(count) for count in counts]
    missing = max(sizes) - len(target_SE)
    padded_WSE = _Gathered.apply(nn.functional.pad(target_SE, (0, 0, 0, missing)))
    targets = torch.cat([part[:size] for part, size in zip(padded_WSE, sizes, strict=True)])
    return targets, sum(sizes[: dist.get_rank()])


class _Gathered(torch.autograd.Function):
    """Equal shapes of all processes, stacked; each process gets the sum of all gradients of its part."""

    @staticmethod
    def forward(ctx, own: Tensor) -> Tensor:
        parts = [torch.empty_like(own) for _ in range(_processes())]
        dist.all_gather(parts, own.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient[dist.get_rank()]


# B batch, T tokens, P predicted positions of the whole batch, V vocabulary


class PretrainingTask(Objective):
    """Predict masked tokens and whether the second part follows the first.

    The loss is the mean over predicted tokens, weighted if the examples have weights, plus
    `nsp_weight` times the mean over examples; a model without NSP head has the first part only.
    Figures, never weighted:

    * `bits_per_base_masked`: sum of the predicted tokens' negative log-likelihood over (ln 2 times
      the base pairs those tokens cover);
    * `mlm_accuracy`, and with an NSP head `nsp_accuracy`: shares of exact predictions.

    Args:
        model: Called as models.pretraining_model.PretrainingModel.
        piece_bp: Base pairs of every token id, shape (V,).
        nsp_weight: Weight of next-sentence prediction in the loss; 1 in the paper.
    """

    monitor = "bits_per_base_masked"
    mode = "min"
    packs_ahead = True

    def __init__(
        self, model: nn.Module, config: TrainConfig, piece_bp: np.ndarray, nsp_weight: float = 1.0
    ) -> None:
        super().__init__(model, config)
        self.nsp_weight = nsp_weight
        bp = torch.as_tensor(np.asarray(piece_bp), dtype=torch.float64)
        self.register_buffer("piece_bp", bp, persistent=False)

    def base_pairs(self, batch: PretrainingBatch) -> Tensor:
        """Return the base pairs of all tokens, of predicted ones as they were before masking."""
        bp_BT = self.piece_bp[batch.token_ids_BT].masked_fill(batch.is_padding_BT, 0)
        masked_P = batch.token_ids_BT.flatten()[batch.positions_P]
        return bp_BT.sum() - self.piece_bp[masked_P].sum() + self.piece_bp[batch.labels_P].sum()

    def predict_batch(self, batch: PretrainingBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return losses (P,) in nats, MLM logits (P, V), NSP logits (B, 2) or None."""
        mlm_logits_PV, nsp_logits_B2 = self.model(
            batch.token_ids_BT,
            batch.is_padding_BT,
            batch.segment_ids_BT,
            batch.positions_P,
            **self.planned(batch),
            **copied_of(batch),
        )
        nll_P = nn.functional.cross_entropy(mlm_logits_PV.float(), batch.labels_P, reduction="none")
        return nll_P, mlm_logits_PV, nsp_logits_B2

    def loss_and_sums(self, batch: PretrainingBatch) -> tuple[Tensor, Sums]:
        """Return the weighted sum of MLM and NSP loss, and the figures above."""
        nll_P, mlm_logits_PV, nsp_logits_B2 = self.predict_batch(batch)
        examples = len(batch.is_random_next_B)
        loss = weighted_mean(self.costs_of(batch, nll_P, mlm_logits_PV), batch.weights_P)
        sums = self.figures_of_masks(batch, nll_P, mlm_logits_PV)
        if nsp_logits_B2 is not None:
            nsp_loss = nn.functional.cross_entropy(nsp_logits_B2.float(), batch.is_random_next_B)
            loss = loss + self.nsp_weight * nsp_loss
            right_B = nsp_logits_B2.argmax(-1) == batch.is_random_next_B
            sums["nsp_accuracy"] = pair(right_B.sum(), examples)
        return loss, {"loss": pair(loss * examples, examples), **sums}

    def costs_of(self, batch: PretrainingBatch, nll_P: Tensor, mlm_logits_PV: Tensor) -> Tensor:
        """Return what each predicted token adds to the loss, (P,)."""
        return nll_P

    def figures_of_masks(
        self, batch: PretrainingBatch, nll_P: Tensor, mlm_logits_PV: Tensor
    ) -> Sums:
        """Return the figures of masked tokens."""
        right_P = mlm_logits_PV.argmax(-1) == batch.labels_P
        return {
            "bits_per_base_masked": pair(
                nll_P.double().sum() / math.log(2), self.piece_bp[batch.labels_P].sum()
            ),
            "mlm_accuracy": pair(right_P.sum(), len(nll_P)),
        }


def weighted_mean(nll_P: Tensor, weights_P: Tensor) -> Tensor:
    """Return the mean cost of the predicted tokens; without weights all count the same."""
    if not len(weights_P):
        return nll_P.sum() / max(len(nll_P), 1)
    total = weights_P.sum()
    return (weights_P * nll_P).sum() / torch.where(total > 0, total, 1.0)
