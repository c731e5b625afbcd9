"""Batches of masked text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.datasets.batches import PAD_ID, pad_right, padding_of

# B batch, T tokens, P predicted positions of the whole batch
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


class MaskedBatch(NamedTuple):
    """Packed documents with masked tokens; padding is on the right."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    positions_P: Tensor
    """Places of the predicted tokens in the flattened (B * T)."""
    labels_P: Tensor
    """Their original ids."""
    predicted_B: Tensor
    """How many of the P belong to each example."""
    examples_B: Tensor
    """Numbers of the examples."""


def collate_masked(examples: Sequence[tuple[int, dict]]) -> MaskedBatch:
    """Join numbered examples of datasets.text.masked.MaskedTextExamples."""
    rows = [example["token_ids"] for _, example in examples]
    token_ids_BT = pad_right(rows, PAD_ID)
    width = token_ids_BT.shape[1]
    positions = [i * width + np.asarray(e["positions"]) for i, (_, e) in enumerate(examples)]
    labels = [np.asarray(e["labels"]) for _, e in examples]
    return MaskedBatch(
        token_ids_BT=token_ids_BT,
        is_padding_BT=padding_of(rows),
        positions_P=torch.from_numpy(np.concatenate(positions).astype(np.int64)),
        labels_P=torch.from_numpy(np.concatenate(labels).astype(np.int64)),
        predicted_B=torch.tensor([len(part) for part in labels]),
        examples_B=torch.tensor([index for index, _ in examples]),
    )
