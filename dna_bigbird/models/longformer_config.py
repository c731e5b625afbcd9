"""Settings of Longformer in an encoder; read without torch."""

from dataclasses import dataclass

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Positive
from dna_bigbird.models.setting_changes import SettingChanges

OPTION = "--model.longformer."


@dataclass(frozen=True)
class LongformerConfig:
    """Windows, dilations and projections of Longformer (specification §8.1); read with `attention` longformer.

    The defaults are those of the published models of masked tokens.
    """

    window_tokens: Positive = 256
    """Tokens that a token reads on either side of it: 256 in the published models, whose files count both sides."""
    windows: tuple[Positive, ...] = ()
    """Tokens on either side for each layer: bottom first, in place of `window_tokens`."""
    dilations: tuple[Positive, ...] = ()
    """Distance between the tokens of a window for each layer: bottom first; 1 is an ordinary window, 2 reads every
    second token. If left out all are 1."""
    dilated_heads: Positive = 2
    """Last heads of a layer that `dilations` is for: 2 in the character models of the paper."""
    separate_global: bool = True
    """Global tokens have projections of their own: these begin as copies of the ordinary ones."""

    def __post_init__(self) -> None:
        check_fields(self, "model.longformer")

    def check(self, num_layers: int, num_heads: int) -> None:
        """Raise ValueError if the settings do not fit the layers and heads of an encoder."""
        for name in ("windows", "dilations"):
            values = getattr(self, name)
            if values and len(values) != num_layers:
                raise ValueError(
                    f"{OPTION}{name} has {len(values)} numbers: expected one per layer, {num_layers} "
                    "(--model.num_layers), or none"
                )
        if self.dilations and self.dilated_heads > num_heads:
            raise ValueError(
                f"{OPTION}dilated_heads {self.dilated_heads} is more than --model.num_heads {num_heads}"
            )

    def window_of(self, layer: int) -> int:
        """Return the tokens on either side that a token of a layer (from 0) reads."""
        return self.windows[layer] if self.windows else self.window_tokens

    def dilations_of(self, layer: int, num_heads: int) -> tuple[int, ...]:
        """Return the dilation of each head of a layer (from 0).

        Example:
            >>> LongformerConfig(dilations=(1, 3)).dilations_of(1, num_heads=4)
            (1, 1, 3, 3)
        """
        if not self.dilations:
            return (1,) * num_heads
        dilated = self.dilated_heads
        return (1,) * (num_heads - dilated) + (self.dilations[layer],) * dilated


@dataclass(frozen=True)
class LongformerChanges(SettingChanges):
    """Settings of Longformer that differ from those of another model; None keeps a setting."""

    GROUP = "model.longformer"

    window_tokens: Positive | None = None
    """Tokens that a token reads on either side of it: may differ with pretrained weights."""
    windows: tuple[Positive, ...] | None = None
    """Tokens on either side for each layer: may differ with pretrained weights."""
    dilations: tuple[Positive, ...] | None = None
    """Distance between the tokens of a window for each layer: may differ with pretrained weights."""
    dilated_heads: Positive | None = None
    """Last heads of a layer that `dilations` is for: may differ with pretrained weights."""
    separate_global: bool | None = None
    """Global tokens have projections of their own: may differ with pretrained weights; new ones begin as copies."""


PAPER_LONGFORMER = LongformerConfig()
"""Of the published models of masked tokens."""
