"""Each character from those before it (specification §8.2)."""

# B batch, T characters, V vocabulary
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.models.character_model import CharacterModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective import Objective, Sums, pair


class CharacterBatch(NamedTuple):
    """Windows of equal length, one character longer than what is read: (B, T + 1)."""

    characters_BT: Tensor
    examples_B: Tensor
    """Numbers of the examples."""


def collate_characters(numbered: Sequence[tuple[int, NDArray[np.uint8]]]) -> CharacterBatch:
    """Join numbered windows of equal length."""
    rows = np.stack([window for _, window in numbered]).astype(np.int64)
    return CharacterBatch(torch.from_numpy(rows), torch.tensor([index for index, _ in numbered]))


class CharacterTask(Objective):
    """Predict the next character; loss and bits are means over the predicted ones."""

    monitor = "bits_per_character"
    mode = "min"
    example = "character"

    def __init__(self, model: CharacterModel, config: TrainConfig, unscored: int | None) -> None:
        super().__init__(model, config)
        self.unscored = unscored

    def loss_and_sums(self, batch: CharacterBatch) -> tuple[Tensor, Sums]:
        """Return the loss and the figures above."""
        read_BT, next_BT = batch.characters_BT[:, :-1], batch.characters_BT[:, 1:]
        nats_BT = nats_of(self.model(read_BT), next_BT)
        scored = torch.ones_like(nats_BT)
        if self.unscored is not None:
            scored = (next_BT != self.unscored).to(nats_BT.dtype)
        total, count = (nats_BT * scored).sum(), scored.sum()
        bits = pair(total, count)
        return total / count.clamp(min=1), {
            "loss": bits,
            "bits_per_character": bits / torch.tensor([math.log(2), 1.0]).to(bits),
        }


def nats_of(logits_BTV: Tensor, next_BT: Tensor) -> Tensor:
    """Return the negative log-likelihood (B, T) of the true characters, float32 or float64."""
    wide = torch.promote_types(logits_BTV.dtype, torch.float32)
    return F.cross_entropy(logits_BTV.to(wide).transpose(1, 2), next_BT, reduction="none")
