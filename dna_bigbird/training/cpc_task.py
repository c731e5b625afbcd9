"""Masked tokens and contrastive predictive coding of hidden sentences (specification §2.4)."""

from typing import Any

import numpy as np
from torch import Tensor, nn

from dna_bigbird.corpus.hidden_sentence_examples import HiddenSentenceBatch
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.contrastive import contrast, figures_of, hidden_of, loss_of
from dna_bigbird.training.objective import Sums, pair
from dna_bigbird.training.pretraining_task import PretrainingTask, weighted_mean


class CpcTask(PretrainingTask):
    """Predict masked tokens, and which of the batch's hidden sentences belongs to which gap.

    The loss is (1 - w) times that of masked tokens plus w times the mean negative log-probability of the
    true sentence among all hidden ones of a micro-batch, over all processes. Figures in addition to those of
    `PretrainingTask`:

    * `cpc_loss`: that mean in nats, in validation among the hidden sentences of one process;
    * `cpc_accuracy`: share of gaps whose true sentence is the most similar one;
    * `cpc_chance`: what guessing would reach.

    Args:
        model: Called as models.pretraining_model.PretrainingModel, with the head cpc.
        piece_bp: Base pairs of every token id, shape (V,).
        weight: w; 0.2 in the ETC paper.
    """

    packs_ahead = False

    def __init__(
        self, model: nn.Module, config: TrainConfig, piece_bp: np.ndarray, weight: float
    ) -> None:
        super().__init__(model, config, piece_bp, nsp_weight=0.0)
        self.weight = weight

    def loss_and_sums(self, batch: HiddenSentenceBatch) -> tuple[Tensor, Sums]:
        """Return the weighted sum of both losses, and the figures above."""
        nll_P, mlm_logits_PV, vectors = self.predict_batch(batch)
        examples = len(batch.is_random_next_B)
        result = contrast(*vectors, gather=self.training)
        mlm_loss = weighted_mean(nll_P, batch.weights_P)
        loss = (1 - self.weight) * mlm_loss + self.weight * loss_of(result)
        return loss, {
            "loss": pair(loss * examples, examples),
            **self.figures_of_masks(batch, nll_P, mlm_logits_PV),
            **figures_of(result),
        }

    def planned(self, batch: HiddenSentenceBatch) -> dict[str, Any]:
        """Return the keyword of the model for the hidden sentences of a batch, if it has any fields for them."""
        return hidden_of(batch) or super().planned(batch)
