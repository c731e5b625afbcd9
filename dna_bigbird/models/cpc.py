"""Contrastive predictive coding of hidden sentences (specification §2.4)."""

# B batch, T tokens, G global tokens, S hidden sentences, U tokens of a sentence, E hidden size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from dataclasses import dataclass

import torch
from torch import Tensor, nn

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

    def global_tokens(self, is_padding_BT: Tensor) -> GlobalTokens:
        """Return a global token for each sentence, of another kind for hidden ones."""
        count = int(self.sentences_BT.max()) + 1
        is_hidden_BG = torch.zeros(
            len(is_padding_BT), max(count, 1), dtype=torch.bool, device=is_padding_BT.device
        )
        is_hidden_BG[self.rows_S, self.numbers_S] = True
        return GlobalTokens.of_sentences(self.sentences_BT, is_padding_BT, is_hidden_BG)


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

        Args:
            global_BGE: States of the global tokens of the batch.
        """
        context_SE = self.context(global_BGE[hidden.rows_S, hidden.numbers_S])
        if not len(context_SE):
            return context_SE, context_SE
        is_padding_SU = hidden.is_sentence_padding_SU
        alone = GlobalTokens.of_sentences(torch.zeros_like(hidden.sentence_ids_SU), is_padding_SU)
        _, states_S1E = encoder.both(hidden.sentence_ids_SU, is_padding_SU, global_tokens=alone)
        return context_SE, self.target(states_S1E[:, 0])
