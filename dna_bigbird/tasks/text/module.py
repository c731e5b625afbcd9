"""Training of any text task."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.datasets.text.row_outputs import Outputs, as_arrays, in_order, split_rows
from dna_bigbird.datasets.text.rows import TextSet
from dna_bigbird.tasks.config import TrainConfig
from dna_bigbird.tasks.objective import Objective, Sums, pair
from dna_bigbird.tasks.text.task import TextTask


def scores_of(kind: TextTask, text_set: TextSet, outputs: list[Outputs]) -> dict[str, float]:
    """Decode and score with the official metric."""
    predictions = kind.decode(text_set, outputs)
    statistics = kind.statistics(text_set.examples, predictions)
    found = kind.summarise(np.asarray(statistics, dtype=np.float64))
    return {name: float(value) for name, value in found.items()}  # checkpoints hold plain values


class TextModule(Objective):
    """The loss of a kind; validation decodes and scores with its official metric.

    Args:
        model: Given to `kind.outputs`.
        validation: The rows of the validation batches.
    """

    def __init__(
        self, model: nn.Module, kind: TextTask, config: TrainConfig, validation: TextSet
    ) -> None:
        super().__init__(model, config)
        self.kind = kind
        self.validation = validation
        self.monitor, self.mode = kind.monitor, kind.mode
        self._found: list[tuple[int, Outputs]] = []

    def examples_of(self, batch: Any) -> Tensor:
        """Return the numbers of the batch's rows."""
        return batch.rows_B

    def loss_and_sums(self, batch: Any) -> tuple[Tensor, Sums]:
        """Return the loss and its sum over rows."""
        outputs = self.kind.outputs(self.model, batch)
        loss = self.kind.loss(outputs, batch)
        rows = len(batch.rows_B)
        sums = {"loss": pair(loss * rows, rows)}
        if not self.training:
            if self.kind.scored_by_loss:
                sums |= self.kind.loss_sums(outputs, batch)
            else:
                self._found += split_rows(
                    as_arrays(self.kind.kept(outputs, batch)), batch.rows_B.tolist()
                )
        return loss, sums

    def on_validation_epoch_start(self) -> None:
        """Forget the rows of the validation before."""
        super().on_validation_epoch_start()
        self._found = []

    def on_validation_epoch_end(self) -> None:
        """Add the official metrics over the rows of all processes."""
        super().on_validation_epoch_end()
        if self.kind.scored_by_loss:
            return
        found = self._found
        if self.trainer.world_size > 1:
            parts: list = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, found)
            found = [one for part in parts for one in part]
        outputs = in_order(found, len(self.validation.rows))
        self.validation_metrics |= scores_of(self.kind, self.validation, outputs)
        self._found = []
