"""Settings of the heads of text tasks; read without torch.

Each is a frozen dataclass with fields of type int, float, bool or str. Classification has
`models.config.HeadConfig`.
"""

from dataclasses import dataclass
from typing import Annotated

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Range, ShareBelowOne


@dataclass(frozen=True)
class FactsHead:
    """An answer with its supporting facts."""

    dropout: ShareBelowOne = 0.1
    """Dropout: before the last layers."""

    def __post_init__(self) -> None:
        check_fields(self, "head")


@dataclass(frozen=True)
class CandidateHead:
    """A score for every candidate answer."""

    ffn_block: bool = False
    """One more feed-forward block with a residual before the last layer."""
    dropout: ShareBelowOne = 0.1
    """Dropout: before the last layer, and in the block."""

    def __post_init__(self) -> None:
        check_fields(self, "head")


@dataclass(frozen=True)
class LongAnswerHead:
    """A short and a long answer in a page, and their type."""

    dropout: ShareBelowOne = 0.1
    """Dropout: before the last layers."""
    mask_outside: bool = True
    """Let no span begin or end outside the document; the first token, which means no span, stays."""

    def __post_init__(self) -> None:
        check_fields(self, "head")


@dataclass(frozen=True)
class SpanHead:
    """An answer in a document."""

    extra_block: bool = False
    """One more feed-forward block with a residual before the last layer, as the head of the Hugging
    Face library has it."""
    block_question: bool = True
    """Let no answer begin or end in the question; the first token stays."""
    dropout: ShareBelowOne = 0.1
    """Dropout: in the block, or before the last layer where there is none."""

    def __post_init__(self) -> None:
        check_fields(self, "head")


@dataclass(frozen=True)
class SummaryHead:
    """The decoder of summaries, and the ids around them."""

    coupled: bool = True
    """Decode with the encoder's own layers and norms, so that only the cross-attention is new; else
    with layers of its own."""
    # A damaged bundle costs no memory.
    decoder_layers: Annotated[int, Range(0, most=1000)] = 0
    """Layers of the decoder; 0: as many as the encoder has."""
    decoder_heads: Count = 0
    """Attention heads of a decoder that is not coupled; 0: as many as the encoder has."""
    decoder_ffn_size: Count = 0
    """Width of the feed-forward layer of a decoder that is not coupled; 0: the encoder's."""
    share_positions: bool = True
    """Encoder and decoder have one position table."""
    decoder_positions: Count = 0
    """Longest summary in tokens: rows of the decoder's own position table, with `share_positions` false; 0:
    as many as the encoder has."""
    attention_dropout: ShareBelowOne = 0.0
    """Dropout of the attention weights: of the decoder, which are full (the paper's code: 0.1); 0: as the encoder."""
    logits_bias: bool = False
    """Add a fixed bias to the logits, which converted models may have."""
    start_id: Count = 2
    """Token before every summary: <s> of BigBird's vocabulary."""
    end_id: Count = 1
    """Token that ends a summary: </s> of BigBird's vocabulary."""

    def __post_init__(self) -> None:
        check_fields(self, "head")
        if self.share_positions and self.decoder_positions:
            raise ValueError(
                f"--head.decoder_positions {self.decoder_positions} is for a table of the decoder's own: "
                "add --head.share_positions false, or leave it at 0"
            )
        if self.coupled and (self.decoder_heads or self.decoder_ffn_size):
            raise ValueError(
                "--head.coupled true has the encoder's sizes; leave --head.decoder_heads and "
                "--head.decoder_ffn_size at 0"
            )
