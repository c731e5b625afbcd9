"""Batches of masked text."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from dna_bigbird.corpus.batches import masked_fields

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
    return MaskedBatch(**masked_fields(examples))
