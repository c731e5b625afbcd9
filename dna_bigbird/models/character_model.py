"""Longformer's character model: each character from those before it (Beltagy et al. 2020, §4)."""

# B batch, T characters, E hidden size, V vocabulary

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dna_bigbird.attention.cores import RelativeLongformer
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.models.character_config import CharacterConfig


class CharacterModel(nn.Module):
    """Decoder with causal windows, relative positions, pre-norm and GELU."""

    def __init__(self, config: CharacterConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(_Layer(config, layer) for layer in range(config.num_layers))
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.output = nn.Linear(config.hidden_size, config.vocab_size)
        if config.softmax == "tied":
            self.output.weight = self.embedding.weight
        self.dropout = nn.Dropout(config.dropout)
        if self.embedding.weight.device.type != "meta":
            self._draw_weights(torch.Generator().manual_seed(seed))

    @torch.no_grad()
    def _draw_weights(self, generator: torch.Generator) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                module.weight.normal_(0, self.config.init_std, generator=generator)
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.zero_()
            if isinstance(module, RelativeLongformer):
                for bias in (module.content_bias, module.position_bias):
                    bias.normal_(0, self.config.init_std, generator=generator)

    def forward(self, characters_BT: Tensor) -> Tensor:
        """Return the logits (B, T, V) of the next character, given `reach` earlier ones."""
        x_BTE = self.embedding(characters_BT) * math.sqrt(self.config.hidden_size)
        x_BTE = self.dropout(x_BTE)
        for layer in self.layers:
            if self.config.gradient_checkpointing and self.training:
                x_BTE = checkpoint(layer, x_BTE, use_reentrant=False)
            else:
                x_BTE = layer(x_BTE)
        return self.output(self.dropout(self.norm(x_BTE)))

    def use_windows(self, windows: Sequence[int]) -> None:
        """Give the layers other windows, from the bottom; no weight depends on them."""
        self.config = replace(self.config, causal_windows=list(windows))
        for number, layer in enumerate(self.layers):
            layer.attention.pattern = _pattern(self.config, number)


class _Layer(nn.Module):
    """x + drop(attention(norm(x))), then x + drop(FFN(norm(x)))."""

    def __init__(self, config: CharacterConfig, number: int) -> None:
        super().__init__()
        E = config.hidden_size
        self.attention_norm = nn.LayerNorm(E, eps=config.norm_eps)
        self.attention = RelativeLongformer(
            E, config.num_heads, _pattern(config, number), dropout_p=config.attention_dropout
        )
        self.ffn_norm = nn.LayerNorm(E, eps=config.norm_eps)
        self.ffn_in = nn.Linear(E, config.ffn_size)
        self.ffn_out = nn.Linear(config.ffn_size, E)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        inner = self.dropout(F.gelu(self.ffn_in(self.ffn_norm(x))))
        return x + self.dropout(self.ffn_out(inner))


def _pattern(config: CharacterConfig, layer: int) -> LongformerPattern:
    return LongformerPattern(
        config.causal_windows[layer], config.head_dilations(layer), is_causal=True
    )
