"""The BigBird-ETC encoder: a long and a global stream through the same layers (specification §2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from dna_bigbird.attention.cores import BigBirdEtc
from dna_bigbird.attention.cores.etc import LabelTable
from dna_bigbird.attention.packing import Packing
from dna_bigbird.attention.patterns.etc_layout import EtcLayout
from dna_bigbird.models.activations import activated, activation
from dna_bigbird.models.attention_config import NUM_TYPES, SENTENCE
from dna_bigbird.models.attention_cores import etc_pattern
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder, initialise

# B batch, L long tokens, G global tokens
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


NO_SENTENCE = -1
"""Number of the sentence of a token that belongs to none, as [CLS]."""


@dataclass(frozen=True, eq=False)
class GlobalTokens:
    """The global tokens of a batch: no words, but types, which say what a token stands for."""

    types_BG: Tensor
    layout: EtcLayout

    @classmethod
    def of_sentences(cls, sentences_BL: Tensor, is_padding_BL: Tensor) -> Self:
        """Return one global token per sentence; they are numbered from 0, or `NO_SENTENCE`."""
        sentences_BL = sentences_BL.masked_fill(is_padding_BL, NO_SENTENCE)
        counts_B = (sentences_BL.amax(1) + 1).clamp(min=1)
        G = int(counts_B.max())
        is_padding_BG = torch.arange(G, device=counts_B.device) >= counts_B[:, None]
        types_BG = torch.full_like(is_padding_BG, SENTENCE, dtype=torch.int64)
        owners = sentences_BL[..., None]
        return cls(types_BG, EtcLayout.of_owners(owners, is_padding_BL, is_padding_BG))

    @classmethod
    def of_links(
        cls,
        types_BG: Tensor,
        is_padding_BG: Tensor,
        is_padding_BL: Tensor,
        links: Sequence[Tensor],
        **parts: Tensor,
    ) -> Self:
        """Return global tokens with their types, and what belongs to them."""
        # `links` are, for each sequence, (n, 2): a long token and a global token that it belongs to.
        belongs_BLG = torch.zeros(*is_padding_BL.shape, types_BG.shape[1], dtype=torch.bool)
        for belongs_LG, pairs in zip(belongs_BLG, links, strict=True):
            belongs_LG[pairs[:, 0], pairs[:, 1]] = True
        return cls(types_BG, EtcLayout(is_padding_BL, is_padding_BG, belongs_BLG, **parts))

    @classmethod
    def evenly(cls, is_padding_BL: Tensor, tokens: int) -> Self:
        """Return one global token for each so many neighbouring tokens, the last for the rest."""
        # It depends on the length of a sequence alone, so a sequence has the same ones next to others.
        at_L = torch.arange(is_padding_BL.shape[1], device=is_padding_BL.device)
        return cls.of_sentences((at_L // tokens).expand(is_padding_BL.shape), is_padding_BL)

    def to(self, device: torch.device | str) -> Self:
        """Return it on a device."""
        return type(self)(self.types_BG.to(device), self.layout.to(device))


# B batch, L long tokens, G global tokens, P packed long tokens, E hidden size


class EtcLayer(nn.Module):
    """A layer over two streams: attention, then a feed-forward layer for each token of either."""

    # Parts of the long stream have the names of `EncoderLayer`, so weights move; both streams share the
    # feed-forward layer and its norm, unless `shared_ffn` is False.

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        E, own = config.hidden_size, config.etc
        self.norm_first = config.norm_first
        self.attention = BigBirdEtc(
            E,
            config.num_heads,
            etc_pattern(own),
            sharing=own.sharing,
            shared_output=own.shared_output,
            qkv_bias=config.qkv_bias,
            output_bias=config.output_bias,
            dropout_p=config.attention_dropout,
        )
        self.attention_norm = nn.LayerNorm(E, eps=config.norm_eps)
        self.global_attention_norm = nn.LayerNorm(E, eps=config.norm_eps)
        self.activation = activation(config.activation)
        self.ffn_in, self.ffn_out = nn.Linear(E, config.ffn_size), nn.Linear(config.ffn_size, E)
        self.ffn_norm = nn.LayerNorm(E, eps=config.norm_eps)
        self.global_ffn_in = self.global_ffn_out = self.global_ffn_norm = None
        if not own.shared_ffn:
            self.global_ffn_in = nn.Linear(E, config.ffn_size)
            self.global_ffn_out = nn.Linear(config.ffn_size, E)
            self.global_ffn_norm = nn.LayerNorm(E, eps=config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, long_BLE: Tensor, global_BGE: Tensor, layout: EtcLayout
    ) -> tuple[Tensor, Tensor]:
        """Return both streams, shaped as they are."""
        streams = (long_BLE, global_BGE)
        norms = (self.attention_norm, self.global_attention_norm)
        if self.norm_first:
            normed = [norm(x) for norm, x in zip(norms, streams, strict=True)]
            mixed = self.attention(*normed, layout)
        else:
            mixed = self.attention(*streams, layout)
        summed = [x + self.dropout(y) for x, y in zip(streams, mixed, strict=True)]
        if not self.norm_first:
            summed = [norm(x) for norm, x in zip(norms, summed, strict=True)]
        ffn_of_long = (self.ffn_in, self.ffn_out, self.ffn_norm)
        ffn_of_global = (self.global_ffn_in, self.global_ffn_out, self.global_ffn_norm)
        if self.global_ffn_in is None:
            ffn_of_global = ffn_of_long
        return self._ffn(summed[0], *ffn_of_long), self._ffn(summed[1], *ffn_of_global)

    def _ffn(self, x: Tensor, first: nn.Linear, last: nn.Linear, norm: nn.LayerNorm) -> Tensor:
        normed = norm(x) if self.norm_first else x
        y = x + self.dropout(last(activated(first, self.activation, normed)))
        return y if self.norm_first else norm(y)

    def last_matrices(self) -> list[nn.Linear]:
        """Return the matrices whose products are added to the streams."""
        chosen = [self.attention.output, self.attention.global_output]
        chosen += [self.ffn_out, self.global_ffn_out]
        return [linear for linear in chosen if linear is not None]


class EtcEncoder(Encoder):
    """Tokens, and global tokens that read and are read by all of them, to hidden states.

    It is called as `Encoder`. Where the caller names no global tokens, every `tokens_per_global`
    neighbouring tokens have one. Positions are labels of pairs, not a table, so any length can be read.
    Each sequence gives the same states alone and next to longer ones.

    Embeddings are summed, normed, then dropped out, in the order of the public ETC code.
    """

    layer_type = EtcLayer

    def __init__(self, config: EncoderConfig, generator: torch.Generator | None = None) -> None:
        generator = generator or torch.Generator().manual_seed(0)
        super().__init__(config, generator)
        self.global_type = nn.Embedding(NUM_TYPES, config.hidden_size)
        self.global_norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        initialise(self.global_type, config.init_std, generator)
        for layer in self.layers:
            layer.attention.reset_labels(generator)

    def forward(self, *batch: Any, **settings: Any) -> Tensor:
        """Return hidden states of the long stream; see `both` and `Encoder.forward`."""
        return self.both(*batch, **settings)[0]

    def both(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None = None,
        num_layers: int | None = None,
        packing: Packing | None = None,
        global_tokens: GlobalTokens | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return hidden states (batch, tokens, hidden) and (batch, global tokens, hidden)."""
        # Those of padding are zero.
        self._check_shapes(token_ids_BT, is_padding_BT, segment_ids_BT)
        if packing is None:
            packing = self.packing(is_padding_BT)
        if global_tokens is None:
            global_tokens = GlobalTokens.evenly(is_padding_BT, self.config.etc.tokens_per_global)
        layout = global_tokens.layout
        long_BLE = packing.unpack(self._embed(packing, token_ids_BT, segment_ids_BT), is_padding_BT)
        global_BGE = self._normed(self.global_type(global_tokens.types_BG), self.global_norm)
        long_BLE, global_BGE = self._through_layers((long_BLE, global_BGE), num_layers, layout)
        return (
            self._last_norm(long_BLE, num_layers).masked_fill(is_padding_BT[..., None], 0.0),
            self._last_norm(global_BGE, num_layers, self.global_norm).masked_fill(
                layout.global_padding[..., None], 0.0
            ),
        )

    def _normed(self, x: Tensor, norm: nn.LayerNorm | None = None) -> Tensor:
        return self.dropout(x if self.config.norm_first else (norm or self.norm)(x))


def label_biases(model: nn.Module) -> set[int]:
    """Return the label biases of a model, one for each label and head, by identity."""
    return {id(m.biases) for m in model.modules() if isinstance(m, LabelTable)}


def build_encoder(config: EncoderConfig, generator: torch.Generator | None = None) -> Encoder:
    """Return the encoder of its settings, with fresh weights; by default the seed is 0."""
    return (EtcEncoder if config.attention == "etc" else Encoder)(config, generator)
