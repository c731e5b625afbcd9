"""HotpotQA: supporting facts, the kind of answer and its span (specification §3.1)."""

# B batch, T tokens, E hidden size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder, initialise
from dna_bigbird.models.text_config import HotpotQaHead


class HotpotQaLogits(NamedTuple):
    """All in float32."""

    sentence_BT: Tensor
    """Whether a sentence supports the answer; has a meaning at the token that ends one."""
    paragraph_BT: Tensor
    """Whether a paragraph has such a sentence; has a meaning at the token before a title."""
    start_BT: Tensor
    """-inf at padding."""
    end_BT: Tensor
    kind_B3: Tensor
    """Span, yes, no."""


class HotpotQaModel(nn.Module):
    """A dense layer on every token to four logits, one on the first token to three.

    Args:
        num_labels: Without a meaning here.
        seed: Of the weights. The encoder's depend on nothing else but `config`.
    """

    def __init__(
        self,
        config: EncoderConfig,
        head: HotpotQaHead | None = None,
        num_labels: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        head = head or HotpotQaHead()
        generator = torch.Generator().manual_seed(seed)
        self.encoder = Encoder(config, generator)
        self.dropout = nn.Dropout(head.dropout)
        self.tokens = nn.Linear(config.hidden_size, 4)
        self.kind = nn.Linear(config.hidden_size, 3)
        initialise(self.tokens, config.init_std, generator)
        initialise(self.kind, config.init_std, generator)

    def forward(
        self, token_ids_BT: Tensor, is_padding_BT: Tensor, segment_ids_BT: Tensor | None = None
    ) -> HotpotQaLogits:
        """Return the logits of every token and of every row."""
        hidden_BTE = self.dropout(self.encoder(token_ids_BT, is_padding_BT, segment_ids_BT))
        sentence, paragraph, start, end = self.tokens(hidden_BTE).float().unbind(dim=-1)
        return HotpotQaLogits(
            sentence_BT=sentence,
            paragraph_BT=paragraph,
            start_BT=start.masked_fill(is_padding_BT, -torch.inf),
            end_BT=end.masked_fill(is_padding_BT, -torch.inf),
            kind_B3=self.kind(hidden_BTE[:, 0]).float(),
        )
