"""Settings of low-rank adaptation; read without torch."""

from dataclasses import dataclass, field
from typing import Literal

from dna_bigbird.choices import check_fields

LoraTarget = Literal["query", "key", "value", "output", "ffn"]


@dataclass(frozen=True)
class LoraConfig:
    """Which matrices of the layers are adapted, and the rank of their updates."""

    rank: int = 0
    """Rank of the update of each adapted matrix (LoRA): these products and the head are trained, everything
    else keeps its weights. 0: all weights are trained."""
    alpha: float = 16.0
    """Scale: updates are multiplied by alpha / rank."""
    targets: list[LoraTarget] = field(default_factory=lambda: ["query", "value"])
    """Adapted matrices of every layer: queries, keys, values, the output projection of the attention,
    both matrices of the feed-forward layer."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.rank < 0:
            raise ValueError(f"--lora.rank {self.rank} must not be negative")
        if not 0 < self.alpha < float("inf"):
            raise ValueError(f"--lora.alpha {self.alpha} must be positive")
        if not self.targets or len(set(self.targets)) < len(self.targets):
            raise ValueError(
                f"--lora.targets {' '.join(self.targets) or '[]'}: expected one or more, each once"
            )
