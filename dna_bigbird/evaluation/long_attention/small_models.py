"""The small model of every core that the learning comparison trains."""

# B batch, T tokens

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from dna_bigbird.attention.cores import Longformer
from dna_bigbird.evaluation.long_attention.layers import draw_by_name
from dna_bigbird.models.attention_config import EtcConfig, LongformerConfig, PerformerConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel

BLOCK = 32
WINDOW_SIDE = 3 * BLOCK // 2
TOKENS_PER_GLOBAL = 20
FEATURES = 128
INIT_STD = 0.1
OWN = {
    "etc": {"etc": EtcConfig(radius=WINDOW_SIDE, tokens_per_global=TOKENS_PER_GLOBAL)},
    "longformer": {"longformer": LongformerConfig(window_tokens=WINDOW_SIDE)},
    "performer": {"performer": PerformerConfig(num_features=FEATURES)},
}
"""Settings that one core reads, by its name."""


def encoder_config(core: str, vocabulary: int, tokens: int, **changes: Any) -> EncoderConfig:
    """Return the settings of a core: two layers of width 64 that differ in nothing but the attention.

    A convolution over five tokens shows the first layer what is next to a token. Positions are a learned table, which
    begins at zero; BigBird-ETC has labels of distances instead.

    Args:
        changes: Other values of settings.
    """
    settings = EncoderConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        num_layers=2,
        num_heads=4,
        ffn_size=128,
        max_tokens=tokens,
        block_size=BLOCK,
        num_segments=0,
        attention=core,
        norm_first=True,
        stem_width=5,
        dropout=0.0,
        init_std=INIT_STD,
        **OWN.get(core, {}),
    )
    return replace(settings, **changes)


class SmallModel(nn.Module):
    """An encoder with the head for masked tokens.

    Args:
        seed: Of the weights: where names and shapes agree, models of all cores have the same.
        changes: As `encoder_config`.
    """

    def __init__(self, core: str, vocabulary: int, tokens: int, seed: int, **changes: Any) -> None:
        super().__init__()
        config = encoder_config(core, vocabulary, tokens, **changes)
        self.lm = PretrainingModel(config, heads=("mlm",))
        draw_by_name(self.lm, seed, INIT_STD)
        if self.encoder.position is not None:
            nn.init.zeros_(self.encoder.position.weight)
        for module in self.modules():
            if isinstance(module, Longformer):
                module.copy_to_global()

    @property
    def encoder(self) -> nn.Module:
        """The encoder, where optimizers look for it."""
        return self.lm.encoder

    def forward(self, token_ids_BT: Tensor, positions_P: Tensor) -> Tensor:
        """Return logits (positions, vocabulary).

        Global tokens of Longformer are those of the first and the last block, as in BigBird.

        Args:
            positions_P: Flat indices into batch × tokens.
        """
        padding_BT = torch.zeros_like(token_ids_BT, dtype=torch.bool)
        own = {}
        if self.encoder.config.attention == "longformer":
            is_global_BT = torch.zeros_like(padding_BT)
            is_global_BT[:, :BLOCK] = is_global_BT[:, -BLOCK:] = True
            own["is_global_BT"] = is_global_BT
        states_BTE = self.encoder(token_ids_BT, padding_BT, **own)
        chosen_PE = states_BTE.flatten(0, 1).index_select(0, positions_P)
        return self.lm.mlm(chosen_PE, self.encoder.word.weight)
