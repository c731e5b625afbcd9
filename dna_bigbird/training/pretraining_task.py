"""Masked tokens and, with a weight, next-sentence prediction (specification §1.6, §7)."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.corpus.batches import PretrainingBatch
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective import Objective, Sums, pair

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
        """Return negative log-likelihoods (P,) in nats, MLM logits (P, V) and NSP logits (B, 2).

        There are no NSP logits without an NSP head.
        """
        mlm_logits_PV, nsp_logits_B2 = self.model(
            batch.token_ids_BT,
            batch.is_padding_BT,
            batch.segment_ids_BT,
            batch.positions_P,
            **self.planned(batch),
        )
        nll_P = nn.functional.cross_entropy(mlm_logits_PV.float(), batch.labels_P, reduction="none")
        return nll_P, mlm_logits_PV, nsp_logits_B2

    def loss_and_sums(self, batch: PretrainingBatch) -> tuple[Tensor, Sums]:
        """Return the weighted sum of MLM and NSP loss, and the figures above."""
        nll_P, mlm_logits_PV, nsp_logits_B2 = self.predict_batch(batch)
        examples = len(batch.is_random_next_B)
        loss = weighted_mean(nll_P, batch.weights_P)
        sums = self.figures_of_masks(batch, nll_P, mlm_logits_PV)
        if nsp_logits_B2 is not None:
            nsp_loss = nn.functional.cross_entropy(nsp_logits_B2.float(), batch.is_random_next_B)
            loss = loss + self.nsp_weight * nsp_loss
            right_B = nsp_logits_B2.argmax(-1) == batch.is_random_next_B
            sums["nsp_accuracy"] = pair(right_B.sum(), examples)
        return loss, {"loss": pair(loss * examples, examples), **sums}

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
