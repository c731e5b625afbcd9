"""What the loss of pretraining is made of."""

from dataclasses import dataclass

from dna_bigbird.models.config import PRETRAINING_HEADS


@dataclass(frozen=True)
class ObjectiveConfig:
    """Weights in the loss of pretraining; the paper's are the defaults.

    Raises:
        ValueError: If a weight is negative or not a number.
    """

    nsp_weight: float = 1.0
    """Weight of next-sentence prediction; 0: none, and every example is one contiguous stretch."""

    def __post_init__(self) -> None:
        if not 0 <= self.nsp_weight < float("inf"):
            raise ValueError(f"--nsp_weight {self.nsp_weight}: expected at least 0")

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads of a model with this objective."""
        return PRETRAINING_HEADS if self.nsp_weight else ("mlm",)
