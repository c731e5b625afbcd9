"""Natural Questions: short and long span, and the type of answer, of a window (specification §3.2)."""

# B batch, T tokens, E hidden size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder, initialise
from dna_bigbird.models.text_config import NaturalQuestionsHead

SPANS = ("short_start", "short_end", "long_start", "long_end")
TYPES = ("null", "yes", "no", "long", "short")


class NqLogits(NamedTuple):
    """All in float32; ends are the last token of a span."""

    short_start_BT: Tensor
    """-inf where no span may begin or end: padding and, with `mask_outside`, what is no document."""
    short_end_BT: Tensor
    long_start_BT: Tensor
    long_end_BT: Tensor
    type_B5: Tensor
    """In the order of `TYPES`."""


class NqModel(nn.Module):
    """Four dense layers on every token, one on the first token.

    Args:
        num_labels: Without a meaning here.
        seed: Of the weights. The encoder's depend on nothing else but `config`.
    """

    def __init__(
        self,
        config: EncoderConfig,
        head: NaturalQuestionsHead | None = None,
        num_labels: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        head = head or NaturalQuestionsHead()
        generator = torch.Generator().manual_seed(seed)
        self.mask_outside = head.mask_outside
        self.encoder = Encoder(config, generator)
        self.dropout = nn.Dropout(head.dropout)
        self.spans = nn.Linear(config.hidden_size, len(SPANS))
        self.kind = nn.Linear(config.hidden_size, len(TYPES))
        initialise(self.spans, config.init_std, generator)
        initialise(self.kind, config.init_std, generator)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        is_document_BT: Tensor,
    ) -> NqLogits:
        """Return the logits of every token and of every row.

        Args:
            is_document_BT: True where a span may begin and end; the first token always may.
        """
        hidden_BTE = self.dropout(self.encoder(token_ids_BT, is_padding_BT, segment_ids_BT))
        closed_BT = is_padding_BT | ~is_document_BT if self.mask_outside else is_padding_BT.clone()
        closed_BT[:, 0] = False
        # In bfloat16 many of 4096 places would have equal logits.
        with torch.autocast(hidden_BTE.device.type, enabled=False):
            hidden_BTE = hidden_BTE.to(self.spans.weight.dtype)
            logits_BT4 = self.spans(hidden_BTE).masked_fill(closed_BT[..., None], -torch.inf)
            return NqLogits(*logits_BT4.unbind(dim=-1), self.kind(hidden_BTE[:, 0]))
