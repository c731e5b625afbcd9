"""Masked words and contrastive predictive coding of hidden sentences (specification §2.4, §6)."""

import numpy as np
from torch import Tensor, nn

from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.hidden_sentences import HiddenTextBatch
from dna_bigbird.text.tasks.mlm import MaskedTextTask
from dna_bigbird.training.contrastive import contrast, figures_of, hidden_of, loss_of
from dna_bigbird.training.objective import Sums, pair


class HiddenTextTask(MaskedTextTask):
    """`MaskedTextTask` with hidden sentences; loss and figures of these as `cpc_task.CpcTask` has them.

    Args:
        model: Called as models.pretraining_model.PretrainingModel, with the head cpc.
        characters: Of every token id, shape (V,).
        weight: Share of CPC in the loss; 0.2 in the ETC paper.
    """

    def __init__(
        self, model: nn.Module, config: TrainConfig, characters: np.ndarray, weight: float
    ) -> None:
        super().__init__(model, config, characters)
        self.weight = weight

    def loss_and_sums(self, batch: HiddenTextBatch) -> tuple[Tensor, Sums]:
        """Return the weighted sum of both losses, and the figures."""
        logits_PV, vectors = self.model(
            batch.token_ids_BT, batch.is_padding_BT, None, batch.positions_P, **hidden_of(batch)
        )
        nll_P = nn.functional.cross_entropy(logits_PV.float(), batch.labels_P, reduction="none")
        result = contrast(*vectors, gather=self.training)
        loss = (1 - self.weight) * nll_P.mean() + self.weight * loss_of(result)
        count = len(nll_P)
        return loss, {
            "loss": pair(loss * count, count),
            **self.figures_of_masks(batch, nll_P, logits_PV.argmax(-1) == batch.labels_P),
            **figures_of(result),
        }
