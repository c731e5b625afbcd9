"""Training of any text task."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.prediction.row_outputs import Outputs, as_arrays, in_order, split_rows
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.tasks.task import TextTask
from dna_bigbird.training.objective import Objective, Sums, pair


def scores_of(task: TextTask, text_set: TextSet, outputs: list[Outputs]) -> dict[str, float]:
    """Decode and score with the official metric."""
    predictions = task.decode(text_set, outputs)
    statistics = task.statistics(text_set.examples, predictions)
    metrics = task.summarise(np.asarray(statistics, dtype=np.float64))
    return {name: float(value) for name, value in metrics.items()}  # checkpoints hold plain values


class TextModule(Objective):
    """Training of a text task; validation decodes and scores with its official metric.

    Args:
        model: Passed to `task.outputs`.
        validation: The rows of the validation batches.
    """

    def __init__(
        self, model: nn.Module, task: TextTask, config: TrainConfig, validation: TextSet
    ) -> None:
        super().__init__(model, config)
        self.task = task
        self.validation = validation
        self.monitor, self.mode = task.monitor, task.mode
        self._outputs: list[tuple[int, Outputs]] = []

    def examples_of(self, batch: Any) -> Tensor:
        """Return the numbers of the batch's rows."""
        return batch.rows_B

    def loss_and_sums(self, batch: Any) -> tuple[Tensor, Sums]:
        """Return the loss and its sum over rows."""
        outputs = self.task.outputs(self.model, batch)
        loss = self.task.loss(outputs, batch)
        rows = len(batch.rows_B)
        sums = {"loss": pair(loss * rows, rows)}
        if not self.training:
            if self.task.scored_by_loss:
                sums |= self.task.loss_sums(outputs, batch)
            else:
                self._outputs += split_rows(
                    as_arrays(self.task.kept(outputs, batch)), batch.rows_B.tolist()
                )
        return loss, sums

    def on_validation_epoch_start(self) -> None:
        """Forget the rows of the validation before."""
        super().on_validation_epoch_start()
        self._outputs = []

    def on_validation_epoch_end(self) -> None:
        """Add the official metrics over the rows of all processes."""
        super().on_validation_epoch_end()
        if self.task.scored_by_loss:
            return
        rows = self._outputs
        if self.trainer.world_size > 1:
            parts: list = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, rows)
            rows = [row for part in parts for row in part]
        outputs = in_order(rows, len(self.validation.rows))
        self.validation_metrics |= scores_of(self.task, self.validation, outputs)
        self._outputs = []
