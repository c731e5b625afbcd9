"""The pretraining model: masked tokens and next-sentence prediction."""

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder, initialise
from dna_bigbird.models.heads import MlmHead, Pooler


class PretrainingModel(nn.Module):
    """Encoder with the tied MLM head and the NSP head."""

    def __init__(self, config: EncoderConfig, seed: int = 0) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.mlm = MlmHead(config.hidden_size, config.vocab_size)
        self.pooler = Pooler(config.hidden_size)
        self.nsp = nn.Linear(config.hidden_size, 2)
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor,
        positions_P: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return MLM logits (positions, vocabulary) and NSP logits (batch, 2).

        Args:
            positions_P: Flat indices into batch × tokens of the tokens to predict.
        """
        hidden_BTE = self.encoder(token_ids_BT, is_padding_BT, segment_ids_BT)
        chosen_PE = hidden_BTE.reshape(-1, hidden_BTE.shape[-1])[positions_P]
        logits_PV = self.mlm(chosen_PE, self.encoder.word.weight)
        return logits_PV, self.nsp(self.pooler(hidden_BTE, is_padding_BT))
