"""Labels of DNA windows: promoters (one label), chromatin (many)."""

import math

import numpy as np
import torch
from lightning_fabric.utilities.rank_zero import rank_zero_only
from torch import Tensor, nn

from dna_bigbird.datasets.batches import LabelledBatch
from dna_bigbird.datasets.few_positives import few_positives
from dna_bigbird.errors import note
from dna_bigbird.evaluation.binary import auroc
from dna_bigbird.tasks.config import TrainConfig
from dna_bigbird.tasks.objective import Objective, Sums, pair

# B batch, T tokens, L labels


class LabellingTask(Objective):
    """Binary cross-entropy over independent labels, positives weighted by `positive_weight`.

    Validation chooses the step by `macro_auroc`, the mean AUROC over the labels that have both
    kinds of row in the validation examples (forward strand only, to be cheap).

    Args:
        model: Called as models.classifier.SequenceClassifier.
    """

    monitor = "macro_auroc"
    example = "window"
    mode = "max"
    packs_ahead = True

    def __init__(self, model: nn.Module, config: TrainConfig) -> None:
        super().__init__(model, config)
        self._seen: list[tuple[Tensor, Tensor]] = []

    def logits_and_loss(self, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        """Return logits (B, L) in float32 and the mean loss over rows and labels."""
        logits_BL = self.model(
            batch.token_ids_BT, batch.is_padding_BT, **self.planned(batch)
        ).float()
        weight = logits_BL.new_full((), self.config.positive_weight)
        loss = nn.functional.binary_cross_entropy_with_logits(
            logits_BL, batch.labels_BL, pos_weight=weight
        )
        return logits_BL, loss

    def loss_and_sums(self, batch: LabelledBatch) -> tuple[Tensor, Sums]:
        """Return the loss and its sum over rows."""
        logits_BL, loss = self.logits_and_loss(batch)
        if not self.training:
            self._seen.append((logits_BL.detach(), batch.labels_BL))
        rows = len(logits_BL)
        return loss, {"loss": pair(loss * rows, rows)}

    def on_validation_epoch_start(self) -> None:
        """Forget the rows of the validation before."""
        super().on_validation_epoch_start()
        self._seen = []

    def on_validation_epoch_end(self) -> None:
        """Add the AUROC over all rows of all processes."""
        super().on_validation_epoch_end()
        logits = torch.cat([logits for logits, _ in self._seen]).cpu().numpy()
        labels = torch.cat([labels for _, labels in self._seen]).cpu().numpy()
        if self.trainer.world_size > 1:
            parts: list = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, (logits, labels))
            logits = np.concatenate([part[0] for part in parts])
            labels = np.concatenate([part[1] for part in parts])
        self.validation_metrics["macro_auroc"] = macro_auroc(labels, logits)
        self._seen = []


@torch.no_grad()
def start_at_base_rates(
    layer: nn.Linear, positives_L: np.ndarray, rows: int, *, positive_weight: float = 1.0
) -> None:
    """Let the last layer of a model give every row the best constant logits for these labels.

    With positives weighted by w, those of a label with share s are log(w * s / (1 - s)). Shares are
    those of one half positive and one half negative row more, so that none is 0 or 1.

    Args:
        positives_L: Positives of every label among the training rows.
        rows: Number of those rows.
    """
    odds_L = (positives_L + 0.5) / (rows - positives_L + 0.5)
    layer.weight.zero_()
    layer.bias.copy_(torch.from_numpy(np.log(positive_weight * odds_L)))


def macro_auroc(labels_NL: np.ndarray, scores_NL: np.ndarray) -> float:
    """Return the mean AUROC over labels with positives and negatives; NaN if there is none.

    Example:
        >>> import numpy as np
        >>> macro_auroc(np.array([[0, 1], [1, 1], [1, 1]]), np.array([[0.1, 0], [0.1, 0], [0.9, 0]]))
        0.75
    """
    areas = [auroc(labels_NL[:, i], scores_NL[:, i]) for i in range(labels_NL.shape[1])]
    defined = [area for area in areas if not math.isnan(area)]
    return sum(defined) / len(defined) if defined else math.nan


def note_few_positives(count: int, name: object) -> None:
    """Tell the user, once for all processes, of a validation split with too few positives."""
    if rank_zero_only.rank in (None, 0) and (text := few_positives(count, name)):
        note(text)
