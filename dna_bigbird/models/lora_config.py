"""Settings of low-rank adaptation; read without torch."""

from dataclasses import dataclass, field
from typing import Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import AboveZero, Count

LoraTarget = Literal["query", "key", "value", "output", "ffn"]


@dataclass(frozen=True)
class LoraConfig:
    """Which matrices of the layers are adapted, and the rank of their updates."""

    rank: Count = 0
    """Rank of the update of each adapted matrix (LoRA): these products and the head are trained, everything
    else keeps its weights. 0: all weights are trained."""
    alpha: AboveZero = 16.0
    """Scale: updates are multiplied by alpha / rank."""
    targets: list[LoraTarget] = field(default_factory=lambda: ["query", "value"])
    """Adapted matrices of every layer: queries, keys, values, the output projection of the attention,
    both matrices of the feed-forward layer."""

    def __post_init__(self) -> None:
        check_fields(self, "lora")
        if not self.targets or len(set(self.targets)) < len(self.targets):
            raise ValueError(
                f"--lora.targets {' '.join(self.targets) or '[]'}: expected one or more, each once"
            )
