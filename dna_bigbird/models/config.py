"""Settings of the models; read without torch."""

from dataclasses import dataclass
from typing import Literal


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
    """Tokens in one attention block."""
    num_random: int = 3
    """Random key blocks of an ordinary query block."""
    random_plan: Literal["uniform", "original"] = "uniform"
    """Where random blocks come from: the whole sequence, or as the published code draws them."""
    pattern_seed: int = 0
    """Seed of the uniform plan."""
    dropout: float = 0.1
    """Dropout after the embeddings, the attention projection and the feed-forward layer."""
    gradient_checkpointing: bool = False
    """Recompute each layer in the backward pass to save memory."""

    def __post_init__(self) -> None:
        if self.hidden_size % self.num_heads:
            raise ValueError(
                f"--model.hidden_size {self.hidden_size} is not a multiple of "
                f"--model.num_heads {self.num_heads}"
            )
        for name in ("vocab_size", "num_layers", "ffn_size", "max_tokens", "block_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"--model.{name} {getattr(self, name)} must be at least 1")
        if self.num_random < 0:
            raise ValueError(f"--model.num_random {self.num_random} must not be negative")


@dataclass(frozen=True)
class HeadConfig:
    """How label logits come from the hidden states."""

    pooling: Literal["cls", "mean"] = "cls"
    """Read the first token, or the mean over all real tokens."""
    dropout: float = 0.1
    """Dropout before the last layer."""
