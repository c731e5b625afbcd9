"""The encoder-decoder that writes summaries (specification §5)."""

from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.models.attention_config import PAPER_LONGFORMER
from dna_bigbird.models.config import LATER_SETTINGS, EncoderConfig
from dna_bigbird.models.encoder import Encoder, EncoderLayer, initialise
from dna_bigbird.models.text_config import SummaryHead
from dna_bigbird.models.weight_transfer import copy_weights, with_tables

# B sources, T tokens of a source, N decoded sequences (equally many a source, in its order),
# U target tokens, E hidden size, H heads, D head dimension, V vocabulary


class CrossAttention(nn.Module):
    """Attention of the decoder to a source, with the LayerNorm that belongs to it."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.num_heads = config.num_heads
        self.dropout_p = config.attention_dropout
        self.query = nn.Linear(size, size, bias=config.qkv_bias)
        self.key_value = nn.Linear(size, 2 * size, bias=config.qkv_bias)
        self.output = nn.Linear(size, size, bias=config.output_bias)
        self.norm = nn.LayerNorm(size, eps=config.norm_eps)

    def keys_values(self, states_BTE: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values (B, H, T, D) of the sources, computed once for all steps."""
        B, T, _ = states_BTE.shape
        pair = self.key_value(states_BTE).view(B, T, 2, self.num_heads, -1)
        key_BHTD, value_BHTD = pair.permute(2, 0, 3, 1, 4).contiguous().unbind(0)
        return key_BHTD, value_BHTD

    def forward(
        self, x_NUE: Tensor, keys_values: tuple[Tensor, Tensor], visible_B11T: Tensor | None
    ) -> Tensor:
        """Return the attention output (N, U, E)."""
        # The sequences of one source are read as further queries, so its keys are not repeated.
        N, U, E = x_NUE.shape
        key_BHTD, value_BHTD = keys_values
        B = len(key_BHTD)
        query = self.query(x_NUE).view(B, N // B * U, self.num_heads, -1).transpose(1, 2)
        dropout_p = self.dropout_p if self.training else 0.0
        mixed = F.scaled_dot_product_attention(
            query, key_BHTD, value_BHTD, attn_mask=visible_B11T, dropout_p=dropout_p
        )
        return self.output(mixed.transpose(1, 2).reshape(N, U, E))


class Sources:
    """What the decoder reads of a batch of sources: `keys_values` of every layer, and padding."""

    def __init__(self, keys_values: list[tuple[Tensor, Tensor]], is_padding_BT: Tensor) -> None:
        self.keys_values = keys_values
        # A source of padding alone is read as it is (zeros): hidden whole it would give NaN.
        hidden_BT = is_padding_BT & ~is_padding_BT.all(dim=1, keepdim=True)
        self.visible_B11T = ~hidden_BT[:, None, None] if hidden_BT.any() else None


class Cache:
    """Keys and values of the target tokens so far, of every layer."""

    def __init__(
        self, num_layers: int, num_sequences: int, max_length: int, num_heads: int, like_NE: Tensor
    ) -> None:
        head_size = like_NE.shape[-1] // num_heads
        shape = (max_length, num_sequences, num_heads, head_size)
        # Keys of layer 0, values of layer 0, keys of layer 1, …
        self.parts = [like_NE.new_empty(shape) for _ in range(2 * num_layers)]
        self.spare = like_NE.new_empty(shape)
        self.length = 0

    def extend(self, layer: int, key_NHD: Tensor, value_NHD: Tensor) -> tuple[Tensor, Tensor]:
        """Store one more token; return all keys and values (N, H, U, D)."""
        extended = []
        for number, new in ((2 * layer, key_NHD), (2 * layer + 1, value_NHD)):
            self.parts[number][self.length] = new
            extended.append(self.parts[number][: self.length + 1].permute(1, 2, 0, 3))
        return extended[0], extended[1]

    def reorder(self, rows_N: Tensor) -> None:
        """Let sequence i go on from what sequence `rows_N[i]` was."""
        if torch.equal(rows_N, torch.arange(len(rows_N), device=rows_N.device)):
            return
        for number, part in enumerate(self.parts):
            torch.index_select(part[: self.length], 1, rows_N, out=self.spare[: self.length])
            self.parts[number], self.spare = self.spare, part


class Decoder(nn.Module):
    """Target tokens and sources to hidden states.

    Word table, segment 0 and, where shared, positions are the encoder's. A coupled decoder also
    decodes with the encoder's layers and norms; it owns the cross-attention alone. Weights that the
    encoder has are not held here, so they are stored once.
    """

    def __init__(self, config: EncoderConfig, head: SummaryHead) -> None:
        super().__init__()
        own = replace(
            config,
            attention="full",
            longformer=PAPER_LONGFORMER,
            num_layers=head.decoder_layers or config.num_layers,
            num_heads=head.decoder_heads or config.num_heads,
            ffn_size=head.decoder_ffn_size or config.ffn_size,
            attention_dropout=head.attention_dropout or config.attention_dropout,
        )
        if head.coupled and own.num_layers != config.num_layers:
            raise ValueError(
                f"--head.decoder_layers {own.num_layers} with --head.coupled true; the encoder has "
                f"{config.num_layers}"
            )
        needed = {"positions": "learned", "qk_norm": False, "stem_width": 0, "patch_tokens": 1}
        needed |= {name: getattr(EncoderConfig, name) for name in LATER_SETTINGS}
        for name, only in needed.items():
            if getattr(config, name) != only:
                raise ValueError(f"--model.{name} must be {only} in a model with a decoder")
        self.config = own
        self.cross = nn.ModuleList(CrossAttention(own) for _ in range(own.num_layers))
        self.layers = self.norm = self.position = None
        if not head.coupled:
            self.layers = nn.ModuleList(EncoderLayer(own, i) for i in range(own.num_layers))
            self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        if not head.share_positions:
            length = head.decoder_positions or config.max_tokens
            self.position = nn.Embedding(length, config.hidden_size)
            self.position.weight.requires_grad_(config.train_positions)
        self.dropout = nn.Dropout(config.dropout)

    def sources(self, states_BTE: Tensor, is_padding_BT: Tensor) -> Sources:
        """Return what `forward` reads of the encoder's states."""
        return Sources([cross.keys_values(states_BTE) for cross in self.cross], is_padding_BT)

    def cache(self, num_sequences: int, max_length: int, like_NE: Tensor) -> Cache:
        """Return an empty cache, of the device and type of `like_NE`."""
        config = self.config
        return Cache(config.num_layers, num_sequences, max_length, config.num_heads, like_NE)

    def forward(
        self, encoder: Encoder, ids_NU: Tensor, sources: Sources, cache: Cache | None = None
    ) -> Tensor:
        """Return hidden states (N, U, E); a state depends on its own and earlier tokens."""
        # N is a multiple of the sources. With a cache of the tokens before U is 1, and the cache grows by it.
        x_NUE = self._embed(encoder, ids_NU, cache.length if cache else 0)
        layers = encoder.layers if self.layers is None else self.layers
        for number, (layer, cross) in enumerate(zip(layers, self.cross, strict=True)):
            x_NUE = self._layer(layer, cross, x_NUE, sources, cache, number)
        if cache:
            cache.length += 1
        return self._norm_of(encoder)(x_NUE) if self.config.norm_first else x_NUE

    def _norm_of(self, encoder: Encoder) -> nn.LayerNorm:
        return encoder.norm if self.norm is None else self.norm

    def _embed(self, encoder: Encoder, ids_NU: Tensor, first: int) -> Tensor:
        position = encoder.position if self.position is None else self.position
        U = ids_NU.shape[1]
        if first + U > position.num_embeddings:
            raise ValueError(
                f"a target of {first + U} tokens, the model writes at most {position.num_embeddings}"
            )
        x_NUE = encoder.embed_words(ids_NU) + position.weight[first : first + U]
        if encoder.segment is not None:
            x_NUE = x_NUE + encoder.segment.weight[0]
        x_NUE = self.dropout(x_NUE)
        return x_NUE if self.config.norm_first else self._norm_of(encoder)(x_NUE)

    def _layer(
        self,
        layer: EncoderLayer,
        cross: CrossAttention,
        x_NUE: Tensor,
        sources: Sources,
        cache: Cache | None,
        number: int,
    ) -> Tensor:
        parts = (
            (layer.attention_norm, lambda x: self._attend(layer, x, cache, number)),
            (cross.norm, lambda x: cross(x, sources.keys_values[number], sources.visible_B11T)),
            (layer.ffn_norm, layer.ffn),
        )
        for norm, part in parts:
            if self.config.norm_first:
                x_NUE = x_NUE + self.dropout(part(norm(x_NUE)))
            else:
                x_NUE = norm(x_NUE + self.dropout(part(x_NUE)))
        return x_NUE

    def _attend(self, layer: EncoderLayer, x_NUE: Tensor, cache: Cache | None, number: int):
        """Return the causal self-attention's output (N, U, E)."""
        N, U, E = x_NUE.shape
        heads = self.config.num_heads
        qkv = layer.attention.qkv(x_NUE).view(N, U, 3, heads, E // heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        if cache:
            key, value = cache.extend(number, key[:, :, 0], value[:, :, 0])
        dropout_p = self.config.attention_dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(
            query, key, value, dropout_p=dropout_p, is_causal=cache is None
        )
        return layer.attention.output(mixed.transpose(1, 2).reshape(N, U, E))


ATTENTION = ("bigbird", "full", "longformer")
"""Of an encoder whose layers a decoder can read or share."""


class Summarizer(nn.Module):
    """Sparse encoder, full-attention decoder, and the word table as last layer, without bias."""

    # `num_labels` is unused; all text models are built with the same arguments.

    def __init__(
        self,
        config: EncoderConfig,
        head: SummaryHead | None = None,
        num_labels: int = 0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.head = head or SummaryHead()
        for name in ("start_id", "end_id"):
            if (token_id := getattr(self.head, name)) >= config.vocab_size:
                raise ValueError(
                    f"--head.{name} {token_id} is beyond the vocabulary of {config.vocab_size} entries"
                )
        if config.attention not in ATTENTION:
            raise ValueError(
                f"--model.attention {config.attention}: a decoder needs the layers of {', '.join(ATTENTION)}"
            )
        generator = torch.Generator().manual_seed(seed)
        self.encoder = Encoder(config, generator)
        self.decoder = Decoder(config, self.head)
        initialise(self.decoder, config.init_std, generator)
        bias = torch.zeros(config.vocab_size) if self.head.logits_bias else None
        self.register_buffer("logits_bias", bias)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor, target_ids_BU: Tensor) -> Tensor:
        """Return logits (B, U, V) of every target token, given source and earlier targets."""
        # Targets have end ids and any padding on the right; the start id is put before them here.
        sources = self.encode(token_ids_BT, is_padding_BT)
        return self.logits(self.decoder(self.encoder, self.shifted(target_ids_BU), sources))

    def shifted(self, target_ids_BU: Tensor) -> Tensor:
        """Return the decoder's input (B, U): the start id and all targets but the last."""
        start = target_ids_BU.new_full((len(target_ids_BU), 1), self.head.start_id)
        return torch.cat([start, target_ids_BU], dim=1)[:, : target_ids_BU.shape[1]]

    def encode(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Sources:
        """Read the sources once, for `forward` of the decoder or for many steps."""
        states_BTE = self.encoder(token_ids_BT, is_padding_BT)
        return self.decoder.sources(states_BTE, is_padding_BT)

    def cache(self, sources: Sources, num_sequences: int, max_length: int) -> Cache:
        """Return an empty cache for `step`."""
        key_BHTD, _ = sources.keys_values[0]
        like = key_BHTD.new_empty(1, self.encoder.config.hidden_size)
        return self.decoder.cache(num_sequences, max_length, like)

    @torch.no_grad()
    def step(self, ids_N: Tensor, sources: Sources, cache: Cache) -> Tensor:
        """Return logits (N, V) of the token after `ids_N` and the cache, without gradients."""
        states_NUE = self.decoder(self.encoder, ids_N[:, None], sources, cache)
        return self.logits(states_NUE[:, 0])

    def logits(self, states: Tensor) -> Tensor:
        """Return the product of hidden states and the word table."""
        return nn.functional.linear(states, self.encoder.word.weight, self.logits_bias)


def start_from(model: Summarizer, pretrained: nn.Module, seed: int) -> None:
    """Give a fresh summarizer the weights of a pretrained model, in place."""
    # From another summarizer everything is taken. From any other model with an encoder, the encoder is;
    # the layers and norms of a decoder that is not coupled, and its positions, are copies of the
    # encoder's (the first ones of as many), and the cross-attention stays fresh, as in the paper.
    generator = torch.Generator().manual_seed(seed)
    grown = with_tables(pretrained.encoder, model.encoder.config, generator)
    copy_weights(grown, model.encoder)
    decoder = model.decoder
    if isinstance(pretrained, Summarizer):
        _copy_summarizer(model, pretrained)
        return
    if decoder.layers is not None:
        if len(decoder.layers) > len(grown.layers):
            raise ValueError(
                f"--head.decoder_layers {len(decoder.layers)}: a decoder that starts from an encoder "
                f"of {len(grown.layers)} layers has at most as many"
            )
        own, theirs = decoder.config, grown.config
        if (own.num_heads, own.ffn_size) != (theirs.num_heads, theirs.ffn_size):
            raise ValueError(
                "a decoder that starts from an encoder has its --head.decoder_heads and "
                "--head.decoder_ffn_size; leave them at 0"
            )
        for layer, source in zip(decoder.layers, grown.layers, strict=False):
            layer.load_state_dict(without_global(source.state_dict()))
        decoder.norm.load_state_dict(grown.norm.state_dict())
    if decoder.position is not None:
        length = len(decoder.position.weight)
        if length > len(grown.position.weight):
            raise ValueError(
                f"--head.decoder_positions {length}: a decoder that starts from an encoder of "
                f"{len(grown.position.weight)} positions has at most as many"
            )
        decoder.position.load_state_dict({"weight": grown.position.weight[:length]})


def without_global(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a layer without the projections of global tokens, which a decoder lacks."""
    return {name: tensor for name, tensor in state.items() if "global_qkv." not in name}


def _copy_summarizer(model: Summarizer, pretrained: Summarizer) -> None:
    ours, theirs = model.decoder.state_dict(), pretrained.decoder.state_dict()
    if {k: v.shape for k, v in ours.items()} != {k: v.shape for k, v in theirs.items()}:
        raise ValueError(
            f"the pretrained summarizer has {pretrained.head}; give the same --head settings"
        )
    model.decoder.load_state_dict(theirs)
    if pretrained.logits_bias is not None:
        if model.logits_bias is None:
            raise ValueError("the pretrained summarizer has a bias: give --head.logits_bias true")
        model.logits_bias[: len(pretrained.logits_bias)] = pretrained.logits_bias
