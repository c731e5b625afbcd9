"""Labels of DNA windows: one label, many labels, classes, targets."""

import numpy as np
import torch
from lightning_fabric.utilities.rank_zero import rank_zero_only
from torch import Tensor, nn

from dna_bigbird.core.errors import note
from dna_bigbird.corpus.batches import LabelledBatch
from dna_bigbird.labelled.set_files import few_positives
from dna_bigbird.metrics.label_objectives import IndependentLabels, LabelObjective
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective import Objective, Sums, pair

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
        rows = len(logits_BL)
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
    layer: nn.Linear, positives_L: np.ndarray, rows: int, *, positive_weight: float = 1.0
) -> None:
    """Let the last layer of a model give every row the best constant logits for these labels."""
    # With positives weighted by w, those of a label with share s are log(w * s / (1 - s)). One half
    # positive and one half negative row more keep each s from 0 and 1.
    odds_L = (positives_L + 0.5) / (rows - positives_L + 0.5)
    layer.weight.zero_()
    layer.bias.copy_(torch.from_numpy(np.log(positive_weight * odds_L)))


def note_few_positives(count: int, name: object) -> None:
    """Tell the user, once for all processes, of a validation split with too few positives."""
    if rank_zero_only.rank in (None, 0) and (text := few_positives(count, name)):
        note(text)
