"""Settings of the character model; read without torch."""

from dataclasses import dataclass, field
from typing import Literal

from dna_bigbird.choices import check_fields

SMALL_WINDOWS = (32, 32, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512)
"""Windows of the small model in the first phase. Published are 32 at the bottom, 512 at the top, and a mean
of 230; these have a mean of 229 (docs/deviations.md)."""
SMALL_DILATIONS = (1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4)
"""Of the small model; the paper counts the characters between two keys, one less (Beltagy et al. 2020, Table 12)."""


@dataclass(frozen=True)
class CharacterConfig:
    """Size and windows of a character model; the defaults are Longformer's small one."""

    vocab_size: int = 27
    """Entries of the vocabulary: the characters that occur; taken from the data."""
    hidden_size: int = 512
    """Width of the hidden states."""
    num_heads: int = 8
    """Attention heads; divides `hidden_size`."""
    ffn_size: int = 2048
    """Width of the feed-forward layer."""
    causal_windows: list[int] = field(default_factory=lambda: list(SMALL_WINDOWS))
    """Earlier characters that a layer reads, for each layer: bottom first, in the first phase; there are as many
    layers."""
    dilations: list[int] = field(default_factory=lambda: list(SMALL_DILATIONS))
    """Distance between the tokens of a window for each layer: bottom first; 1 is an ordinary window."""
    dilated_heads: int = 2
    """Last heads of a layer that `dilations` is for: the others have ordinary windows."""
    dropout: float = 0.2
    """Dropout: after the embeddings, the attention projection, in and after the feed-forward layer, and before
    the softmax."""
    attention_dropout: float = 0.0
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
        check_fields(self)
        for name in ("causal_windows", "dilations"):
            values = getattr(self, name)
            whole = all(isinstance(v, int) and not isinstance(v, bool) for v in values)
            if not values or not whole or min(values) < 1:
                raise ValueError(
                    f"--model.{name} {values}: expected whole numbers of at least 1, one for each layer"
                )
        if len(self.causal_windows) != len(self.dilations):
            raise ValueError(
                f"--model.causal_windows has {len(self.causal_windows)} layers, --model.dilations "
                f"{len(self.dilations)}; expected "
                "as many"
            )
        for name in ("vocab_size", "hidden_size", "num_heads", "ffn_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"--model.{name} {getattr(self, name)} must be at least 1")
        if self.hidden_size % self.num_heads or self.hidden_size % 2:
            raise ValueError(
                f"--model.hidden_size {self.hidden_size} must be even and a multiple of --model.num_heads "
                f"{self.num_heads}"
            )
        if not 0 <= self.dilated_heads <= self.num_heads:
            raise ValueError(
                f"--model.dilated_heads {self.dilated_heads} must be 0 to --model.num_heads {self.num_heads}"
            )
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"--model.{name} {getattr(self, name)} must be at least 0 and below 1"
                )

    @property
    def num_layers(self) -> int:
        """Layers of the model."""
        return len(self.causal_windows)

    def head_dilations(self, layer: int) -> tuple[int, ...]:
        """Return the dilation of each head of a layer; the last heads are the dilated ones.

        Example:
            >>> CharacterConfig().head_dilations(11)
            (1, 1, 1, 1, 1, 1, 4, 4)
        """
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
