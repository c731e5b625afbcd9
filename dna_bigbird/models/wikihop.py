"""WikiHop: one score for every candidate answer (specification §3.4)."""

# B batch, T tokens, N candidates, E hidden size

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder, initialise
from dna_bigbird.models.residual_block import ResidualBlock
from dna_bigbird.models.text_config import WikiHopHead

ABSENT = -1
"""Stands for no candidate where a row has fewer than another one of its batch."""


class WikiHopModel(nn.Module):
    """The state of every candidate's `[ans]` token through a dense layer to one score.

    Args:
        num_labels: Without a meaning here.
        seed: Of the weights. The encoder's depend on nothing else but `config`.
    """

    def __init__(
        self,
        config: EncoderConfig,
        head: WikiHopHead | None = None,
        num_labels: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        head = head or WikiHopHead()
        generator = torch.Generator().manual_seed(seed)
        self.encoder = Encoder(config, generator)
        self.block = ResidualBlock(config, head.dropout) if head.ffn_block else nn.Identity()
        self.dropout = nn.Dropout(head.dropout)
        self.dense = nn.Linear(config.hidden_size, 1)
        initialise(self.block, config.init_std, generator)
        initialise(self.dense, config.init_std, generator)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        candidates_BN: Tensor,
    ) -> Tensor:
        """Return scores (batch, candidates) in float32; those of absent candidates are -inf.

        Args:
            candidates_BN: Place of each candidate's token, or `ABSENT`.
        """
        hidden_BTE = self.encoder(token_ids_BT, is_padding_BT, segment_ids_BT)
        places_BN1 = candidates_BN.clamp(min=0)[..., None]
        candidates_BNE = hidden_BTE.gather(1, places_BN1.expand(-1, -1, hidden_BTE.shape[-1]))
        scores_BN = self.dense(self.dropout(self.block(candidates_BNE)))[..., 0].float()
        return scores_BN.masked_fill(candidates_BN == ABSENT, -torch.inf)
