"""Models that answer questions: the encoder with a small head each (specification §3)."""

from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from dna_bigbird.models.activations import activation
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.etc_encoder import GlobalTokens, build_encoder
from dna_bigbird.models.text_config import CandidateHead, FactsHead, LongAnswerHead, SpanHead


class ResidualBlock(nn.Module):
    """x → LN(x + drop(FFN(drop(x)))), as the Hugging Face library has it before its last layer."""

    def __init__(self, config: EncoderConfig, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ffn_in = nn.Linear(config.hidden_size, config.ffn_size)
        self.activation = activation(config.activation)
        self.ffn_out = nn.Linear(config.ffn_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.activation(self.ffn_in(self.dropout(x)))
        return self.norm(x + self.dropout(self.ffn_out(inner)))


# B batch, T tokens, G global tokens, N candidates, U units of a row, E hidden size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


BLOCKED = 1e6
"""Subtracted from the logits of the question, as in the Hugging Face library."""
ABSENT = -1
"""Position of no candidate, where a row has fewer than another row of its batch."""
SPANS = ("short_start", "short_end", "long_start", "long_end")
TYPES = ("null", "yes", "no", "long", "short")


class QuestionModel(nn.Module):
    """An encoder, and the layers that a subclass adds."""

    head_type: ClassVar[type]

    def __init__(
        self, config: EncoderConfig, head: Any = None, num_labels: int = 0, seed: int = 0
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.encoder = build_encoder(config, generator)
        self.two_streams = config.attention == "etc"
        self.add_layers(config, head or self.head_type())
        for layer in list(self.children())[1:]:
            initialise(layer, config.init_std, generator)

    def add_layers(self, config: EncoderConfig, head: Any) -> None:
        """Register the layers of the head; their names are keys of the weights in bundles."""
        raise NotImplementedError

    def states(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        global_tokens: GlobalTokens | Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Return hidden states of the tokens, and those that a head reads for units."""
        inputs = (token_ids_BT, is_padding_BT, segment_ids_BT)
        if self.two_streams:
            return self.encoder.both(*inputs, global_tokens=global_tokens)
        hidden_BTE = self.encoder(*inputs, is_global_BT=global_tokens)
        return hidden_BTE, hidden_BTE


class FactsLogits(NamedTuple):
    """All in float32."""

    facts_BU: Tensor
    """Whether a sentence supports the answer, or a title (a paragraph) has such a sentence."""
    start_BT: Tensor
    """-inf at padding."""
    end_BT: Tensor
    type_B3: Tensor
    """Span, yes, no."""


class FactsModel(QuestionModel):
    """A span with its supporting facts: logits of every token, every unit and the first token."""

    # A unit is read at its mark, by a layer for titles or one for sentences; with attention etc at
    # its global token, by one layer for all, and the type of answer at the first global token.

    head_type = FactsHead

    def add_layers(self, config: EncoderConfig, head: FactsHead) -> None:
        """Register one layer for tokens and units (two with attention etc), one for the type of answer."""
        self.dropout = nn.Dropout(head.dropout)
        self.tokens = nn.Linear(config.hidden_size, 2 if self.two_streams else 4)
        self.facts = nn.Linear(config.hidden_size, 1) if self.two_streams else None
        self.kind = nn.Linear(config.hidden_size, 3)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        places_BU: Tensor,
        is_title_BU: Tensor,
        global_tokens: GlobalTokens | Tensor | None = None,
    ) -> FactsLogits:
        both = self.states(token_ids_BT, is_padding_BT, segment_ids_BT, global_tokens)
        hidden_BTE, of_units = (self.dropout(states) for states in both)
        *at_marks, start, end = self.tokens(hidden_BTE).float().unbind(dim=-1)
        if self.facts is not None:
            facts_BU = self.facts(of_units)[..., 0].float().gather(1, places_BU)
        else:
            sentence_BU, title_BU = (logits.gather(1, places_BU) for logits in at_marks)
            facts_BU = torch.where(is_title_BU, title_BU, sentence_BU)
        return FactsLogits(
            facts_BU=facts_BU,
            start_BT=start.masked_fill(is_padding_BT, -torch.inf),
            end_BT=end.masked_fill(is_padding_BT, -torch.inf),
            type_B3=self.kind(of_units[:, 0]).float(),
        )


class LongAnswerLogits(NamedTuple):
    """All in float32; ends are the last token of a span."""

    short_start_BT: Tensor
    """-inf where no span may begin or end: padding and, with `mask_outside`, outside the document."""
    short_end_BT: Tensor
    long_start_BT: Tensor
    long_end_BT: Tensor
    type_B5: Tensor
    """In the order of `TYPES`."""


class LongAnswerModel(QuestionModel):
    """A short and a long span in a window: four logits of every token, five of the first token."""

    head_type = LongAnswerHead

    def add_layers(self, config: EncoderConfig, head: LongAnswerHead) -> None:
        self.mask_outside = head.mask_outside
        self.dropout = nn.Dropout(head.dropout)
        self.spans = nn.Linear(config.hidden_size, len(SPANS))
        self.kind = nn.Linear(config.hidden_size, len(TYPES))

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        is_document_BT: Tensor,
        global_tokens: GlobalTokens | Tensor | None = None,
    ) -> LongAnswerLogits:
        hidden_BTE, _ = self.states(token_ids_BT, is_padding_BT, segment_ids_BT, global_tokens)
        hidden_BTE = self.dropout(hidden_BTE)
        closed_BT = is_padding_BT | ~is_document_BT if self.mask_outside else is_padding_BT.clone()
        closed_BT[:, 0] = False
        # In bfloat16 many of 4096 positions would have equal logits.
        with torch.autocast(hidden_BTE.device.type, enabled=False):
            hidden_BTE = hidden_BTE.to(self.spans.weight.dtype)
            logits_BT4 = self.spans(hidden_BTE).masked_fill(closed_BT[..., None], -torch.inf)
            return LongAnswerLogits(*logits_BT4.unbind(dim=-1), self.kind(hidden_BTE[:, 0]))


class SpanLogits(NamedTuple):
    """Both in float32; an end is the last token of an answer."""

    start_BT: Tensor
    end_BT: Tensor


class SpanModel(QuestionModel):
    """A span of a document; with the extra block the library's BigBirdForQuestionAnswering."""

    head_type = SpanHead

    def add_layers(self, config: EncoderConfig, head: SpanHead) -> None:
        self.block_question = head.block_question
        self.block = (
            ResidualBlock(config, head.dropout) if head.extra_block else nn.Dropout(head.dropout)
        )
        self.dense = nn.Linear(config.hidden_size, 2)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor,
        global_tokens: GlobalTokens | Tensor | None = None,
    ) -> SpanLogits:
        hidden_BTE, _ = self.states(token_ids_BT, is_padding_BT, segment_ids_BT, global_tokens)
        hidden_BTE = self.block(hidden_BTE)
        # In bfloat16 many of 4096 positions would have equal logits.
        with torch.autocast(hidden_BTE.device.type, enabled=False):
            logits_BT2 = self.dense(hidden_BTE.to(self.dense.weight.dtype))
        if self.block_question:
            is_question_BT = segment_ids_BT == 0
            is_question_BT[:, 0] = False
            logits_BT2 = logits_BT2 - BLOCKED * is_question_BT[..., None]
        logits_BT2 = logits_BT2.masked_fill(is_padding_BT[..., None], -torch.inf)
        return SpanLogits(*logits_BT2.unbind(dim=-1))


class CandidateModel(QuestionModel):
    """One score for every candidate answer, from the state of its token, or of its global token."""

    head_type = CandidateHead

    def add_layers(self, config: EncoderConfig, head: CandidateHead) -> None:
        self.block = ResidualBlock(config, head.dropout) if head.ffn_block else nn.Identity()
        self.dropout = nn.Dropout(head.dropout)
        self.dense = nn.Linear(config.hidden_size, 1)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        candidates_BN: Tensor,
        global_tokens: GlobalTokens | Tensor | None = None,
    ) -> Tensor:
        """Return scores (batch, candidates) in float32; those of absent candidates are -inf."""
        _, states = self.states(token_ids_BT, is_padding_BT, segment_ids_BT, global_tokens)
        positions_BN1 = candidates_BN.clamp(min=0)[..., None]
        candidates_BNE = states.gather(1, positions_BN1.expand(-1, -1, states.shape[-1]))
        scores_BN = self.dense(self.dropout(self.block(candidates_BNE)))[..., 0].float()
        return scores_BN.masked_fill(candidates_BN == ABSENT, -torch.inf)
