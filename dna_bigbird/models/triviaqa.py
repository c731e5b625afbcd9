"""TriviaQA: where an answer begins and ends in a document (specification §3.3)."""

# B batch, T tokens, E hidden size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder, initialise
from dna_bigbird.models.residual_block import ResidualBlock
from dna_bigbird.models.text_config import TriviaQaHead

BLOCKED = 1e6
"""Taken off the logits of the question, as in the Hugging Face library."""


class SpanLogits(NamedTuple):
    """Both in float32; an end is the last token of an answer."""

    start_BT: Tensor
    end_BT: Tensor


class TriviaQaModel(nn.Module):
    """A dense layer on every token to two logits, after one more block if that is wanted.

    With the block it is BigBirdForQuestionAnswering of the Hugging Face library.

    Args:
        num_labels: Without a meaning here.
        seed: Of the weights. The encoder's depend on nothing else but `config`.
    """

    def __init__(
        self,
        config: EncoderConfig,
        head: TriviaQaHead | None = None,
        num_labels: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        head = head or TriviaQaHead()
        generator = torch.Generator().manual_seed(seed)
        self.block_question = head.block_question
        self.encoder = Encoder(config, generator)
        self.block = (
            ResidualBlock(config, head.dropout) if head.extra_block else nn.Dropout(head.dropout)
        )
        self.dense = nn.Linear(config.hidden_size, 2)
        initialise(self.block, config.init_std, generator)
        initialise(self.dense, config.init_std, generator)

    def forward(
        self, token_ids_BT: Tensor, is_padding_BT: Tensor, segment_ids_BT: Tensor
    ) -> SpanLogits:
        """Return the logits of every token; -inf at padding.

        Args:
            segment_ids_BT: 0 for the question and its separators, 1 for the document.
        """
        hidden_BTE = self.block(self.encoder(token_ids_BT, is_padding_BT, segment_ids_BT))
        # In bfloat16 many of 4096 places would have equal logits.
        with torch.autocast(hidden_BTE.device.type, enabled=False):
            logits_BT2 = self.dense(hidden_BTE.to(self.dense.weight.dtype))
        if self.block_question:
            is_question_BT = segment_ids_BT == 0
            is_question_BT[:, 0] = False
            logits_BT2 = logits_BT2 - BLOCKED * is_question_BT[..., None]
        logits_BT2 = logits_BT2.masked_fill(is_padding_BT[..., None], -torch.inf)
        return SpanLogits(*logits_BT2.unbind(dim=-1))
