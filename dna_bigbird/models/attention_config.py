"""Settings of the attention that an encoder has: Longformer, Performer and BigBird-ETC; read without torch."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Positive, optional


class SettingChanges:
    """Settings that differ from those of another model; each field is None or a new value."""

    GROUP: ClassVar[str]
    """Of the options, for messages."""
    if TYPE_CHECKING:

        def __init__(self, **settings: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    def __post_init__(self) -> None:
        check_fields(self, self.GROUP)

    @property
    def values(self) -> dict[str, Any]:
        """The settings that are given, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def applied_to(self, settings: Any) -> Any:
        """Return settings with these changes; ValueError if they contradict each other."""
        return replace(settings, **self.values)


def weights_stay(
    settings: type, free: Collection[str], left_out: Collection[str] = ()
) -> dict[str, str]:
    """Return for each setting, as a sentence, whether it may change with pretrained weights."""
    return {
        field.name: "May differ with pretrained weights."
        if field.name in free
        else "Fresh weights only."
        for field in fields(settings)
        if field.name not in left_out
    }


LONGFORMER_OPTION = "--model.longformer."


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
                    f"{LONGFORMER_OPTION}{name} has {len(values)} numbers: expected one per layer, {num_layers} "
                    "(--model.num_layers), or none"
                )
        if self.dilations and self.dilated_heads > num_heads:
            raise ValueError(
                f"{LONGFORMER_OPTION}dilated_heads {self.dilated_heads} is more than --model.num_heads {num_heads}"
            )

    def window_of(self, layer: int) -> int:
        """Return the tokens on either side that a token of a layer (from 0) reads."""
        return self.windows[layer] if self.windows else self.window_tokens

    def dilations_of(self, layer: int, num_heads: int) -> tuple[int, ...]:
        """Return the dilation of each head of a layer (from 0), the last ones dilated."""
        if not self.dilations:
            return (1,) * num_heads
        dilated = self.dilated_heads
        return (1,) * (num_heads - dilated) + (self.dilations[layer],) * dilated


@optional(LongformerConfig, weights_stay(LongformerConfig, LongformerConfig.__annotations__))
class LongformerChanges(SettingChanges):
    """Settings of Longformer that differ from those of another model; None keeps a setting."""

    GROUP = "model.longformer"


PAPER_LONGFORMER = LongformerConfig()
"""Of the published models of masked tokens."""


PERFORMER_OPTION = "--model.performer."


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
                f"{PERFORMER_OPTION}norms {self.norms} is for {PERFORMER_OPTION}rows orthogonal, got {self.rows}"
            )

    def check(self, head_dim: int) -> None:
        """Raise ValueError if the settings do not fit the heads of an encoder."""
        if self.rows == "identity" and self.num_features not in (0, head_dim):
            raise ValueError(
                f"{PERFORMER_OPTION}rows identity has {head_dim} features, the size of a head: give {PERFORMER_OPTION}num_features "
                f"0, got {self.num_features}"
            )


@optional(PerformerConfig, weights_stay(PerformerConfig, PerformerConfig.__annotations__))
class PerformerChanges(SettingChanges):
    """Settings of the Performer that differ from those of another model; None keeps a setting."""

    GROUP = "model.performer"


PAPER_PERFORMER = PerformerConfig()
"""Of the public code in JAX."""


NUM_TYPES = 16
"""Rows of the table of types."""
SENTENCE, HIDDEN_SENTENCE = 0, 1
"""Of a sentence, and of a sentence whose tokens are all masked."""
FIRST, QUESTION, CANDIDATE, PARAGRAPH = 2, 3, 4, 5
"""Of [CLS], of one token of the question, of a candidate answer, and of a paragraph or document."""


OPTION = "--model.etc."
OF_WEIGHTS = ("max_distance", "sharing", "shared_output", "shared_ffn")
"""Settings that weights depend on; the others say who reads whom."""


@dataclass(frozen=True)
class EtcConfig:
    """Streams, labels and shared weights of BigBird-ETC (specification §2); read with `attention` etc.

    The defaults are those of the paper's base model and of the public ETC code.
    """

    radius: Positive = 84
    """Long tokens that a long token reads on either side: 84 in the base, 169 in the large model."""
    local_mode: Literal["exact", "three_blocks"] = "exact"
    """Form of the band: exact ends `radius` tokens away; three_blocks has 3 `radius` tokens in whole blocks, as the
    paper's tables count the window."""
    max_distance: Positive = 12
    """Distance from which positions are no longer distinguished: 12 in the base, 24 in the large model."""
    tokens_per_global: Positive = 16
    """Neighbouring tokens that have a global token of their own where the data names no sentences: 4,096 tokens
    have 256."""
    hard_g2l: bool = True
    """A global token reads only the long tokens that belong to it: as in pretraining of the ETC paper."""
    hard_l2g: bool = False
    """A long token reads only the global tokens that it belongs to: false in the ETC paper."""
    sharing: Literal["qkv", "kv", "none"] = "qkv"
    """Projections that both streams share: all, or each stream has its own (kv), or each of the four pieces has
    its own keys and values (none)."""
    shared_output: bool = False
    """Both streams have one output projection of the attention: false in the public ETC code."""
    shared_ffn: bool = True
    """Both streams have one feed-forward layer, its norm included: true in the public ETC code."""

    def __post_init__(self) -> None:
        check_fields(self, "model.etc")
        if self.local_mode == "three_blocks" and self.max_distance > self.radius:
            raise ValueError(
                f"{OPTION}local_mode three_blocks needs a {OPTION}radius of at least "
                f"{OPTION}max_distance {self.max_distance}, got {self.radius}"
            )


@optional(EtcConfig, weights_stay(EtcConfig, EtcConfig.__annotations__.keys() - OF_WEIGHTS))
class EtcChanges(SettingChanges):
    """Settings of BigBird-ETC that differ from those of another model; None keeps a setting."""

    GROUP = "model.etc"


PAPER_ETC = EtcConfig()
"""Of the paper's base model."""
