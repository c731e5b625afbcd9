"""Settings of the character model; read without torch."""

from dataclasses import dataclass, field
from typing import Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Positive, ShareBelowOne

SMALL_WINDOWS = (32, 32, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512)
"""Windows of the small model in the first phase. Published are 32 at the bottom, 512 at the top, and a mean
of 230; these have a mean of 229 (docs/explanation/what-differs-from-the-paper.md)."""
SMALL_DILATIONS = (1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4)
"""Of the small model; the paper counts the characters between two keys, one less (Beltagy et al. 2020, Table 12)."""


@dataclass(frozen=True)
class CharacterConfig:
    """Size and windows of a character model; the defaults are Longformer's small one."""

    vocab_size: Positive = 27
    """Entries of the vocabulary: the characters that occur; taken from the data."""
    hidden_size: Positive = 512
    """Width of the hidden states."""
    num_heads: Positive = 8
    """Attention heads; divides `hidden_size`."""
    ffn_size: Positive = 2048
    """Width of the feed-forward layer."""
    causal_windows: list[Positive] = field(default_factory=lambda: list(SMALL_WINDOWS))
    """Earlier characters that a layer reads, for each layer: bottom first, in the first phase; there are as many
    layers."""
    dilations: list[Positive] = field(default_factory=lambda: list(SMALL_DILATIONS))
    """Distance between the tokens of a window for each layer: bottom first; 1 is an ordinary window."""
    dilated_heads: Count = 2
    """Last heads of a layer that `dilations` is for: the others have ordinary windows."""
    dropout: ShareBelowOne = 0.2
    """Dropout: after the embeddings, the attention projection, in and after the feed-forward layer, and before
    the softmax."""
    attention_dropout: ShareBelowOne = 0.0
    """Dropout of the attention weights; Transformer-XL has none on characters."""
    softmax: Literal["tied", "untied"] = "tied"
    """Whether the last layer shares the table of embeddings, as in Transformer-XL."""
    norm_eps: float = 1e-5
    """Added to the variance in every layer norm: as in Transformer-XL."""
    init_std: float = 0.02
    """Standard deviation of fresh kernels and embeddings: and of u and v of the attention."""
    gradient_checkpointing: bool = False
    """Recompute each layer in the backward pass to save memory: for long windows on one GPU."""

    def __post_init__(self) -> None:
        check_fields(self, "model")
        if not self.causal_windows:
            raise ValueError("--model.causal_windows []: expected a window for each layer")
        if len(self.causal_windows) != len(self.dilations):
            raise ValueError(
                f"--model.causal_windows has {len(self.causal_windows)} layers, --model.dilations "
                f"{len(self.dilations)}; expected "
                "as many"
            )
        if self.hidden_size % self.num_heads or self.hidden_size % 2:
            raise ValueError(
                f"--model.hidden_size {self.hidden_size} must be even and a multiple of --model.num_heads "
                f"{self.num_heads}"
            )
        if self.dilated_heads > self.num_heads:
            raise ValueError(
                f"--model.dilated_heads {self.dilated_heads} must be at most --model.num_heads {self.num_heads}"
            )

    @property
    def num_layers(self) -> int:
        """Layers of the model."""
        return len(self.causal_windows)

    def head_dilations(self, layer: int) -> tuple[int, ...]:
        """Return the dilation of each head of a layer; the last heads are the dilated ones."""
        plain = self.num_heads - self.dilated_heads
        return (1,) * plain + (self.dilations[layer],) * self.dilated_heads

    @property
    def reach(self) -> int:
        """Earlier characters that can have influence on a prediction, over all layers.

        Example:
            >>> CharacterConfig(causal_windows=[4, 8], dilations=[1, 2]).reach
            20
        """
        widest = [max(self.head_dilations(layer)) for layer in range(self.num_layers)]
        return sum(window * widest[layer] for layer, window in enumerate(self.causal_windows))
