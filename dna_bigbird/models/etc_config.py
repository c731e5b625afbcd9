"""Settings of BigBird-ETC in an encoder; read without torch."""

from dataclasses import dataclass
from typing import Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Positive
from dna_bigbird.models.setting_changes import SettingChanges

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


@dataclass(frozen=True)
class EtcChanges(SettingChanges):
    """Settings of BigBird-ETC that differ from those of another model; None keeps a setting."""

    GROUP = "model.etc"

    radius: Positive | None = None
    """Long tokens that a long token reads on either side: may differ with pretrained weights."""
    local_mode: Literal["exact", "three_blocks"] | None = None
    """Form of the band: may differ with pretrained weights."""
    max_distance: Positive | None = None
    """Distance from which positions are no longer distinguished: fresh weights only."""
    tokens_per_global: Positive | None = None
    """Neighbouring tokens that have a global token of their own where the data names no sentences: may differ with
    pretrained weights."""
    hard_g2l: bool | None = None
    """A global token reads only the long tokens that belong to it: may differ with pretrained weights."""
    hard_l2g: bool | None = None
    """A long token reads only the global tokens that it belongs to: may differ with pretrained weights."""
    sharing: Literal["qkv", "kv", "none"] | None = None
    """Projections that both streams share: fresh weights only."""
    shared_output: bool | None = None
    """Both streams have one output projection of the attention: fresh weights only."""
    shared_ffn: bool | None = None
    """Both streams have one feed-forward layer, its norm included: fresh weights only."""


PAPER_ETC = EtcConfig()
"""Of the paper's base model."""
