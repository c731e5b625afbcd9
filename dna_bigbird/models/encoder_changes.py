"""Changes to the settings of an encoder that another model had; read without torch."""

from dataclasses import replace
from operator import attrgetter
from typing import Any

from dna_bigbird.core.settings import optional
from dna_bigbird.models.attention_config import (
    OF_WEIGHTS,
    EtcChanges,
    LongformerChanges,
    PerformerChanges,
    SettingChanges,
    weights_stay,
)
from dna_bigbird.models.config import OWN_SETTINGS, PATTERN, EncoderConfig

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


KEPT = (
    "vocab_size",
    "num_segments",
    "random_plan",
    "norm_eps",
    "qkv_bias",
    "output_bias",
    "rotary_base",
    "untied_head",
    "logit_cap",
    "train_positions",
    "scale_embeddings",
    "dropout",
    "gradient_checkpointing",
)
"""Settings that an encoder keeps, or that have an option elsewhere."""
WITHOUT_WEIGHTS = {*PATTERN, "attention_dropout"}
"""Settings that no weight depends on; nor on `max_tokens`, if there is no table of positions."""


@optional(
    EncoderConfig,
    weights_stay(EncoderConfig, WITHOUT_WEIGHTS, (*KEPT, *OWN_SETTINGS))
    | {
        "max_tokens": "May differ with pretrained weights if positions are rotary.",
        "attention": "May differ with pretrained weights, but etc: fresh weights only.",
    },
)
class EncoderChanges(SettingChanges):
    """Settings of the encoder that differ from those it is taken from; None keeps a setting."""

    GROUP = "model"

    etc: EtcChanges = EtcChanges()
    """Streams and labels of `attention` etc."""
    longformer: LongformerChanges = LongformerChanges()
    """Windows and projections of `attention` longformer."""
    performer: PerformerChanges = PerformerChanges()
    """Random features of `attention` performer."""

    @property
    def values(self) -> dict[str, Any]:
        """The settings that are given, by name."""
        own = {name: value for name, value in vars(self).items() if name not in OWN_SETTINGS}
        for part in OWN_SETTINGS:
            own |= {f"{part}.{name}": value for name, value in vars(getattr(self, part)).items()}
        return {name: value for name, value in own.items() if value is not None}

    def applied_to(self, encoder: EncoderConfig) -> EncoderConfig:
        """Return the settings of an encoder with these changes.

        With attention etc an encoder of rotary positions loses them, and with performer its dropout of
        attention weights, unless they are asked for. With another attention than before, the settings
        of the attention before are left out.
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
        """Return the changed settings of an encoder that its weights were not trained with."""
        # The attention pattern, dropout and, without a table of positions, the longest sequence may change;
        # attention may not change from or to etc (`weight_transfer` has what the others do).
        free = WITHOUT_WEIGHTS | ({"max_tokens"} if encoder.reads_any_length else set())
        if "etc" in (self.attention, encoder.attention):
            free.remove("attention")
        of_own = {f"{part}.{name}" for part in OWN_SETTINGS for name in vars(getattr(self, part))}
        free |= of_own - {f"etc.{name}" for name in OF_WEIGHTS}
        return [
            name
            for name, value in self.values.items()
            if name not in free and value != attrgetter(name)(encoder)
        ]
