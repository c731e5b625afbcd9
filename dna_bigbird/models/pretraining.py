"""The pretraining model: masked tokens and next-sentence prediction."""

# B batch, T tokens, E hidden size, P predicted positions, V vocabulary

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder, initialise
from dna_bigbird.models.heads import MlmHead, Pooler


class PretrainingModel(nn.Module):
    """Encoder with the tied MLM head and the NSP head (specification §1.6).

    Args:
        seed: Of the weights. The encoder's depend on nothing else but `config`.
    """

    def __init__(self, config: EncoderConfig, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.encoder = Encoder(config, generator)
        self.mlm = MlmHead(config)
        self.pooler = Pooler(config.hidden_size)
        self.nsp = nn.Linear(config.hidden_size, 2)
        for head in (self.mlm, self.pooler, self.nsp):
            initialise(head, config.init_std, generator)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor,
        positions_P: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return MLM logits (positions, vocabulary) and NSP logits (batch, 2).

        Args:
            token_ids_BT, is_padding_BT, segment_ids_BT: As for `Encoder`.
            positions_P: Flat indices into batch × tokens of the tokens to predict: row times T
                plus column. Logits are computed for these only.

        NSP logit 0 stands for the true continuation, 1 for a random one.
        """
        hidden_BTE = self.encoder(token_ids_BT, is_padding_BT, segment_ids_BT)
        chosen_PE = hidden_BTE.flatten(0, 1).index_select(0, positions_P)
        logits_PV = self.mlm(chosen_PE, self.encoder.word.weight)
        return logits_PV, self.nsp(self.pooler(hidden_BTE, is_padding_BT))
