"""The encoder-decoder that writes summaries (specification §5)."""

# B sources, T their tokens, N decoded sequences, U target tokens, E hidden size, V vocabulary

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.decoder import Cache, Decoder, Sources
from dna_bigbird.models.encoder import Encoder, initialise
from dna_bigbird.models.text_config import SummaryHead
from dna_bigbird.models.weight_transfer import copy_weights, with_tables

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
        return self.logits(
            self.decoder(
                self.encoder,
                self.shifted(target_ids_BU),
                self.encode(token_ids_BT, is_padding_BT),
            )
        )

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
