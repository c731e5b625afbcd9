"""Examples of text with masked words and whole hidden sentences, and their batches."""

# B batch, T tokens, S hidden sentences of the whole batch, U tokens of the longest
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from dna_bigbird.corpus.batches import masked_fields
from dna_bigbird.corpus.hidden_sentence_examples import (
    SentenceHiding,
    choose_sentences,
    sentence_fields,
    sentence_rng,
    sentences_of_text,
    with_copy,
    with_sentences,
)
from dna_bigbird.text.data.masked import MaskedTextExamples


class HiddenTextBatch(NamedTuple):
    """A `MaskedBatch`, field by field, and the hidden sentences as `HiddenSentenceBatch` has them."""

    token_ids_BT: Tensor
    is_padding_BT: Tensor
    positions_P: Tensor
    labels_P: Tensor
    predicted_B: Tensor
    examples_B: Tensor
    hidden_ids_BT: Tensor
    sentences_BT: Tensor
    rows_S: Tensor
    numbers_S: Tensor
    sentence_ids_SU: Tensor
    is_sentence_padding_SU: Tensor


class HiddenTextExamples:
    """The examples of `MaskedTextExamples`, a few of whose sentences are hidden.

    All tokens of a hidden sentence are masked and none of them is predicted; of the other words the usual
    share is. The number of masked tokens still shows how long a hidden sentence is.

    Args:
        ends: Which ids end a sentence, (V,) bool.
        keeps_masks: As of `HiddenSentenceExamples`: for validation.
    """

    def __init__(
        self,
        examples: MaskedTextExamples,
        ends: np.ndarray,
        hiding: SentenceHiding,
        *,
        keeps_masks: bool = False,
    ) -> None:
        self.examples = examples
        self.ends = ends
        self.hiding = hiding
        self.keeps_masks = keeps_masks

    @property
    def examples_per_epoch(self) -> int:
        """Examples of an epoch."""
        return self.examples.examples_per_epoch

    def __getitem__(self, index: int) -> dict:
        """Return one example: as `MaskedTextExamples`, with sentences as `HiddenSentenceExamples` has them."""
        examples = self.examples
        ids, is_text = examples.unmasked(index)
        sentences = sentences_of_text(ids, is_text, self.ends)
        chosen = choose_sentences(sentences, is_text, sentence_rng(examples, index), self.hiding)
        more = with_sentences(ids, sentences, chosen)
        is_hidden, mask_id = np.isin(sentences, chosen), examples.vocabulary.mask_id
        if self.keeps_masks:
            return with_copy(examples[index], is_hidden, mask_id) | more
        shown = np.where(is_hidden, mask_id, ids)
        return examples.masked(index, shown, is_text & ~is_hidden) | more


def collate_hidden_text(examples: Sequence[tuple[int, dict]]) -> HiddenTextBatch:
    """Join numbered examples of `HiddenTextExamples`."""
    return HiddenTextBatch(**masked_fields(examples), **sentence_fields(examples))
