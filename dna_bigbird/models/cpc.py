"""Contrastive predictive coding of hidden sentences (specification §2.4)."""

# B batch, T tokens, G global tokens, S hidden sentences, U tokens of a sentence, E hidden size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor, nn

from dna_bigbird.models.etc_config import HIDDEN_SENTENCE
from dna_bigbird.models.etc_encoder import EtcEncoder
from dna_bigbird.models.global_tokens import GlobalTokens


@dataclass(frozen=True, eq=False)
class HiddenSentences:
    """The sentences of a batch, and which of them are hidden; as `HiddenSentenceBatch` has them."""

    sentences_BT: Tensor
    rows_S: Tensor
    numbers_S: Tensor
    sentence_ids_SU: Tensor
    is_sentence_padding_SU: Tensor
    hidden_ids_BT: Tensor

    @classmethod
    def of(cls, batch: Any) -> Self:
        """Return those of a batch that has these fields."""
        return cls(**{field.name: getattr(batch, field.name) for field in fields(cls)})

    def global_tokens(self, is_padding_BT: Tensor) -> GlobalTokens:
        """Return a global token for each sentence, of another type for hidden ones."""
        tokens = GlobalTokens.of_sentences(self.sentences_BT, is_padding_BT)
        tokens.types_BG[self.rows_S, self.numbers_S] = HIDDEN_SENTENCE
        return tokens


class CpcHead(nn.Module):
    """Two linear layers: of the global token of a hidden sentence, and of that sentence read alone.

    Their product is the similarity; the ETC paper does not give its own.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.context = nn.Linear(hidden_size, hidden_size)
        self.target = nn.Linear(hidden_size, hidden_size)

    def forward(
        self, encoder: EtcEncoder, global_BGE: Tensor, hidden: HiddenSentences
    ) -> tuple[Tensor, Tensor]:
        """Return vectors of hidden sentences in their contexts, and of the sentences: (S, E) twice.

        The encoder is also called where nothing is hidden: with FSDP all processes have to call it equally
        often.

        Args:
            global_BGE: States of the global tokens of the batch.
        """
        context_SE = self.context(global_BGE[hidden.rows_S, hidden.numbers_S])
        ids_SU, is_padding_SU = hidden.sentence_ids_SU, hidden.is_sentence_padding_SU
        if not len(ids_SU):  # a token in place of a sentence
            ids_SU = ids_SU.new_zeros(1, 1)
            is_padding_SU = ids_SU < 0
        alone = GlobalTokens.of_sentences(torch.zeros_like(ids_SU), is_padding_SU)
        _, states_S1E = encoder.both(ids_SU, is_padding_SU, global_tokens=alone)
        return context_SE, self.target(states_S1E[:, 0])[: len(context_SE)]
