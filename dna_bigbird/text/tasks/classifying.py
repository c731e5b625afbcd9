"""What document classification and GLUE share: one vector per text, logits, a class or a score."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dna_bigbird.text.data.data import common_fields
from dna_bigbird.text.data.rows import TextRow, TextSet
from dna_bigbird.text.tasks.task import Outputs, TextTask

# B batch, T tokens, L labels
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


class ClassBatch(NamedTuple):
    """Rows of `classification_rows`."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    segment_ids_BT: Tensor
    rows_B: Tensor
    targets_B: Tensor
    """float32, class number or score; NaN where unknown."""


class Predicted(NamedTuple):
    """The prediction for an example."""

    value: str | float
    """A class name, or a score."""
    probability: float | None = None
    """Of that class; None for a score and where a baseline has none."""


class ClassifyingTask(TextTask):
    """Cross-entropy over classes; where `is_regression`, squared error of one score."""

    is_regression = False

    def texts(self, examples: Sequence[Any]) -> Iterator[str]:
        """Yield every text, both of a pair."""
        for example in examples:
            yield from example.texts

    def collate(self, rows: Sequence[tuple[int, TextRow]]) -> ClassBatch:
        """Join rows."""
        targets = np.array([row.arrays["target"] for _, row in rows], dtype=np.float32)
        return ClassBatch(**common_fields(rows), targets_B=torch.from_numpy(targets))

    def outputs(self, model: nn.Module, batch: ClassBatch) -> dict[str, Tensor]:
        """Return `logits` (B, L); an encoder with one segment only reads a pair as one text."""
        highest = max(0, model.encoder.config.num_segments - 1)
        segments_BT = batch.segment_ids_BT.clamp(max=highest)
        return {"logits": model(batch.token_ids_BT, batch.is_padding_BT, segments_BT)}

    def loss(self, outputs: dict[str, Tensor], batch: ClassBatch) -> Tensor:
        """Return the mean over the rows whose target is known."""
        logits_BL = outputs["logits"].float()
        known_B = ~batch.targets_B.isnan()
        targets_B = batch.targets_B.nan_to_num()
        if self.is_regression:
            losses_B = (logits_BL[:, 0] - targets_B) ** 2
        else:
            losses_B = F.cross_entropy(logits_BL, targets_B.long(), reduction="none")
        return (losses_B * known_B).sum() / known_B.sum().clamp(min=1)

    def decode(self, text_set: TextSet, outputs: list[Outputs]) -> list[Predicted]:
        """Return the class of the highest logit (of equal ones the first), or the score."""
        if self.is_regression:
            return [Predicted(float(each["logits"][0])) for each in outputs]
        logits_NL = np.stack([each["logits"] for each in outputs]).astype(np.float64)
        shares_NL = np.exp(logits_NL - logits_NL.max(axis=1, keepdims=True))
        shares_NL /= shares_NL.sum(axis=1, keepdims=True)
        return [
            Predicted(self.labels[index], float(shares_L[index]))
            for shares_L, index in zip(shares_NL, shares_NL.argmax(axis=1), strict=True)
        ]
