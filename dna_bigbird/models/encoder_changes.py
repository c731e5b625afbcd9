"""Changes to the settings of an encoder that another model had; read without torch."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import AboveZero, Positive, ShareBelowOne
from dna_bigbird.models.attention_config import (
    OF_WEIGHTS,
    EtcChanges,
    LongformerChanges,
    PerformerChanges,
)
from dna_bigbird.models.config import OWN_SETTINGS, PATTERN, EncoderConfig, Size, SizeOrNone

SMALL = EncoderConfig(
    hidden_size=128,
    num_layers=2,
    num_heads=4,
    ffn_size=512,
    num_segments=0,
    positions="rotary",
    norm_first=True,
    stem_width=9,
    dropout=0.2,
    init_std=0.05,
)
"""The encoder of a fine-tuning without a pretrained bundle; its vocabulary and length are those of the set."""


@dataclass(frozen=True)
class EncoderChanges:
    """Settings of the encoder that differ from those it is taken from; None keeps a setting."""

    hidden_size: Size | None = None
    """Width of the hidden states."""
    num_layers: SizeOrNone | None = None
    """Transformer layers; with 0 the head reads embeddings and stem."""
    num_heads: Size | None = None
    """Attention heads; they divide `hidden_size`."""
    ffn_size: Size | None = None
    """Width of the feed-forward layer."""
    max_tokens: Size | None = None
    """Longest sequence in tokens: with rotary positions it may differ with pretrained weights."""
    block_size: Size | None = None
    """Tokens in one attention block; may differ with pretrained weights."""
    attention: Literal["bigbird", "full", "etc", "longformer", "performer"] | None = None
    """Block-sparse attention, or full: may differ with pretrained weights, and be longformer or performer. etc:
    BigBird-ETC, fresh weights only."""
    window_blocks: SizeOrNone | None = None
    """Neighbouring blocks that a block reads, itself included: may differ with pretrained weights."""
    global_blocks: Literal["first_last", "first_two", "none"] | None = None
    """Blocks that read every block and are read by every block; may differ with pretrained weights."""
    num_random: SizeOrNone | None = None
    """Random key blocks of an ordinary query block; may differ with pretrained weights."""
    pattern_seed: SizeOrNone | None = None
    """Seed of the uniform plan; may differ with pretrained weights."""
    activation: Literal["gelu_tanh", "gelu", "relu"] | None = None
    """Activation: of the feed-forward layers."""
    norm_first: bool | None = None
    """LayerNorm before attention and feed-forward layer, and once after the last layer (Pegasus),
    instead of after each sum and after the embeddings (BERT); fresh weights only."""
    positions: Literal["learned", "rotary"] | None = None
    """Positions of tokens: a learned table or rotary ones."""
    qk_norm: bool | None = None
    """Scale each query and key to root mean square 1, times a learned gain, in every head; fresh weights
    only."""
    stem_width: SizeOrNone | None = None
    """Tokens that a convolution over the embeddings reads, added to them before the first layer: 0 for
    no stem."""
    patch_tokens: Positive | None = None
    """Neighbouring tokens that the layers read as one, 1 for none: with `norm_first` and rotary positions."""
    scale_residual: bool | None = None
    """Draw the last matrices of attention and feed-forward layer with `init_std` / sqrt(2 *
    `num_layers`); fresh weights only."""
    attention_dropout: ShareBelowOne | None = None
    """Dropout of the attention weights; block-sparse backends other than gather have none."""
    init_std: AboveZero | None = None
    """Standard deviation of fresh kernels and embeddings; 0.02 in the paper, more for narrower models."""
    etc: EtcChanges = EtcChanges()  # noqa: RUF009 - frozen
    """Streams and labels of `attention` etc."""
    longformer: LongformerChanges = LongformerChanges()  # noqa: RUF009 - frozen
    """Windows and projections of `attention` longformer."""
    performer: PerformerChanges = PerformerChanges()  # noqa: RUF009 - frozen
    """Random features of `attention` performer."""

    def __post_init__(self) -> None:
        check_fields(self, "model")

    @property
    def values(self) -> dict[str, object]:
        """The settings that are given, by name."""
        own = {name: value for name, value in vars(self).items() if name not in OWN_SETTINGS}
        for part in OWN_SETTINGS:
            own |= {f"{part}.{name}": value for name, value in vars(getattr(self, part)).items()}
        return {name: value for name, value in own.items() if value is not None}

    def applied_to(self, encoder: EncoderConfig) -> EncoderConfig:
        """Return the settings of an encoder with these changes.

        With attention etc an encoder of rotary positions loses them, and with performer its dropout of
        attention weights, unless they are asked for. With another attention than before, the settings of
        the attention before are left out.

        Raises:
            ValueError: If the settings contradict each other.

        Example:
            >>> EncoderChanges(num_layers=0).applied_to(EncoderConfig()).num_layers
            0
        """
        own = {name: value for name, value in self.values.items() if "." not in name}
        parts = {name: getattr(encoder, name) for name in OWN_SETTINGS}
        if self.attention not in (None, encoder.attention):
            parts |= OWN_SETTINGS
            without = {"etc": {"positions": "learned"}, "performer": {"attention_dropout": 0.0}}
            own = without.get(self.attention, {}) | own
        parts = {name: getattr(self, name).applied_to(part) for name, part in parts.items()}
        return replace(encoder, **own, **parts)

    def other_weights(self, encoder: EncoderConfig) -> list[str]:
        """Return the changed settings of an encoder that its weights were not trained with.

        The attention pattern, dropout and, without a table of positions, the longest sequence may
        change; attention may not change from or to etc (`moved_weights` has what the others do).

        Example:
            >>> EncoderChanges(num_random=1, stem_width=9).other_weights(EncoderConfig())
            ['stem_width']
        """
        free = {*PATTERN, "attention_dropout"} | (
            {"max_tokens"} if encoder.reads_any_length else set()
        )
        if "etc" in (self.attention, encoder.attention):
            free.remove("attention")
        of_own = {f"{part}.{name}" for part in OWN_SETTINGS for name in vars(getattr(self, part))}
        free |= of_own - {f"etc.{name}" for name in OF_WEIGHTS}
        return [
            name
            for name, value in self.values.items()
            if name not in free and value != attrgetter(name)(encoder)
        ]
