"""Settings of the Performer in an encoder; read without torch."""

from dataclasses import dataclass
from typing import Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count
from dna_bigbird.models.setting_changes import SettingChanges

OPTION = "--model.performer."


@dataclass(frozen=True)
class PerformerConfig:
    """Random features of the Performer (specification §8.3); read with `attention` performer."""

    num_features: Count = 256
    """Random features of a query or key: more approximate full attention better. 0: D ln D, with heads of
    size D."""
    kernel: Literal["softmax", "relu"] = "softmax"
    """Kernel of the features: softmax approximates full attention, relu is another attention."""
    rows: Literal["orthogonal", "independent", "identity"] = "orthogonal"
    """Rows of the projection: orthogonal ones have less error than independent ones; identity: no randomness,
    with as many features as numbers in a head."""
    norms: Literal["gaussian", "sqrt_dim"] = "gaussian"
    """Lengths of orthogonal rows: as of Gaussian vectors, or all the same."""
    redraw_interval: Count = 1000
    """Forward passes in training that use one projection, then another is drawn: never with 0."""
    seed: Count = 0
    """Seed of the random numbers: of the projections."""

    def __post_init__(self) -> None:
        check_fields(self, "model.performer")
        if self.rows != "orthogonal" and self.norms != "gaussian":
            raise ValueError(
                f"{OPTION}norms {self.norms} is for {OPTION}rows orthogonal, got {self.rows}"
            )

    def check(self, head_dim: int) -> None:
        """Raise ValueError if the settings do not fit the heads of an encoder."""
        if self.rows == "identity" and self.num_features not in (0, head_dim):
            raise ValueError(
                f"{OPTION}rows identity has {head_dim} features, the size of a head: give {OPTION}num_features "
                f"0, got {self.num_features}"
            )


@dataclass(frozen=True)
class PerformerChanges(SettingChanges):
    """Settings of the Performer that differ from those of another model; None keeps a setting."""

    GROUP = "model.performer"

    num_features: Count | None = None
    """Random features of a query or key: may differ with pretrained weights."""
    kernel: Literal["softmax", "relu"] | None = None
    """Kernel of the features: may differ with pretrained weights."""
    rows: Literal["orthogonal", "independent", "identity"] | None = None
    """Rows of the projection: may differ with pretrained weights."""
    norms: Literal["gaussian", "sqrt_dim"] | None = None
    """Lengths of orthogonal rows: may differ with pretrained weights."""
    redraw_interval: Count | None = None
    """Forward passes in training that use one projection, then another is drawn: may differ with pretrained weights."""
    seed: Count | None = None
    """Seed of the random numbers: of the projections; may differ with pretrained weights."""


PAPER_PERFORMER = PerformerConfig()
"""Of the public code in JAX."""
