"""Settings of the heads of text tasks; read without torch.

Each is a frozen dataclass with fields of type int, float, bool or str. Classification has
`models.config.HeadConfig`.
"""

from dataclasses import dataclass

from dna_bigbird.models.config import _check_share


@dataclass(frozen=True)
class HotpotQaHead:
    """How HotpotQA's answers and supporting facts come from the hidden states."""

    dropout: float = 0.1
    """Dropout before the last layers."""

    def __post_init__(self) -> None:
        _check_share("--head.dropout", self.dropout)


@dataclass(frozen=True)
class WikiHopHead:
    """How scores of candidates come from the hidden states of their tokens."""

    ffn_block: bool = False
    """One more feed-forward block with a residual before the last layer."""
    dropout: float = 0.1
    """Dropout before the last layer, and in the block."""

    def __post_init__(self) -> None:
        _check_share("--head.dropout", self.dropout)


@dataclass(frozen=True)
class NaturalQuestionsHead:
    """How the spans and types of Natural Questions come from the hidden states."""

    dropout: float = 0.1
    """Dropout before the last layers."""
    mask_outside: bool = True
    """Let no span begin or end outside the document; the first token, which stands for no span, stays."""

    def __post_init__(self) -> None:
        _check_share("--head.dropout", self.dropout)


@dataclass(frozen=True)
class TriviaQaHead:
    """How TriviaQA's spans come from the hidden states."""

    extra_block: bool = False
    """One more feed-forward block with a residual before the last layer, as the head of the Hugging
    Face library has it."""
    block_question: bool = True
    """Let no answer begin or end in the question; the first token stays."""
    dropout: float = 0.1
    """Dropout in the block, or before the last layer where there is none."""

    def __post_init__(self) -> None:
        _check_share("--head.dropout", self.dropout)
