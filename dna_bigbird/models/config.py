"""Settings of the models; read without torch."""

from dataclasses import dataclass
from typing import Literal

SIZES = (
    "vocab_size",
    "hidden_size",
    "num_layers",
    "num_heads",
    "ffn_size",
    "max_tokens",
    "block_size",
)
RANDOM_PLANS = ("uniform", "original")
POOLINGS = ("cls", "mean")


@dataclass(frozen=True)
class EncoderConfig:
    """Size and attention pattern of the encoder; the defaults are the paper's base model."""

    vocab_size: int = 32000
    """Pieces in the vocabulary, special ones included."""
    hidden_size: int = 768
    """Width of the hidden states."""
    num_layers: int = 12
    """Transformer layers."""
    num_heads: int = 12
    """Attention heads; divides `hidden_size`."""
    ffn_size: int = 3072
    """Width of the feed-forward layer."""
    max_tokens: int = 4096
    """Longest sequence in tokens, special ones included."""
    block_size: int = 64
    """Tokens in one attention block; the last one of a sequence may be ragged."""
    num_random: int = 3
    """Random key blocks of an ordinary query block."""
    random_plan: Literal["uniform", "original"] = "uniform"
    """Where random blocks come from: the whole sequence, or as the published code draws them."""
    pattern_seed: int = 0
    """Seed of the uniform plan; the original one depends on the layer alone."""
    dropout: float = 0.1
    """Dropout after the embeddings, the attention projection and the feed-forward layer."""
    init_std: float = 0.02
    """Standard deviation of fresh kernels and embeddings; a model narrower than the paper's learns
    sooner with more, in proportion to 1 / sqrt(hidden_size)."""
    gradient_checkpointing: bool = False
    """Recompute each layer in the backward pass to save memory."""

    def __post_init__(self) -> None:
        for name in SIZES:
            if getattr(self, name) < 1:
                raise ValueError(f"--model.{name} {getattr(self, name)} must be at least 1")
        if self.hidden_size % self.num_heads:
            raise ValueError(
                f"--model.hidden_size {self.hidden_size} is not a multiple of "
                f"--model.num_heads {self.num_heads}"
            )
        if not self.init_std > 0:
            raise ValueError(f"--model.init_std {self.init_std} must be positive")
        for name in ("num_random", "pattern_seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"--model.{name} {getattr(self, name)} must not be negative")
        if self.random_plan not in RANDOM_PLANS:
            raise ValueError(
                f"--model.random_plan {self.random_plan!r} is not one of {', '.join(RANDOM_PLANS)}"
            )
        _check_share("--model.dropout", self.dropout)


@dataclass(frozen=True)
class HeadConfig:
    """How label logits come from the hidden states."""

    pooling: Literal["cls", "mean"] = "cls"
    """Read the first token through a dense layer with tanh, or the plain mean over all real tokens."""
    dropout: float = 0.1
    """Dropout before the last layer."""

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise ValueError(f"--head.pooling {self.pooling!r} is not one of {', '.join(POOLINGS)}")
        _check_share("--head.dropout", self.dropout)


def _check_share(option: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{option} {value} must be at least 0 and below 1")
