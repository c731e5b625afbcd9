"""The encoder: embeddings and BigBird layers, post-norm or pre-norm (specification §1.5)."""

# B batch, T tokens, P packed tokens (attention/packing.py), E hidden size

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dna_bigbird.attention.packing import Packing
from dna_bigbird.core.choices import OLD_CHOICES
from dna_bigbird.models import attention_cores
from dna_bigbird.models.activations import activated, activation
from dna_bigbird.models.attention_cores import attention_core
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.memory import check_weights_fit
from dna_bigbird.models.stem import Patches, Stem, WordMemory

FEW_LETTERS = 16
"""Largest vocabulary whose convolutions the stem computes once per letter: that of single bases."""


def initialise(module: nn.Module, std: float, generator: torch.Generator) -> None:
    """Draw kernels and embeddings from a normal cut at two sigma; biases 0, norms 1 and 0."""
    for child in module.modules():
        if isinstance(child, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(child.weight, std=std, a=-2 * std, b=2 * std, generator=generator)
        if isinstance(child, nn.Linear) and child.bias is not None:
            nn.init.zeros_(child.bias)


class EncoderLayer(nn.Module):
    """x → y = LN(x + drop(attention(x))) → LN(y + drop(FFN(y)))."""

    # With `norm_first`: x → y = x + drop(attention(LN(x))) → y + drop(FFN(LN(y))).

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        self.norm_first = config.norm_first
        self.attention = attention_core(config, layer)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.ffn_in = nn.Linear(config.hidden_size, config.ffn_size)
        self.activation = activation(config.activation)
        self.ffn_out = nn.Linear(config.ffn_size, config.hidden_size)
        self.ffn_norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x_PE: Tensor, packing: Packing, shared: Any = None, first_PE: Tensor | None = None
    ) -> Tensor:
        """Return the layer's output (packed tokens, hidden); `shared` is by all layers."""
        if self.norm_first:
            mixed_PE = self.attention.packed(self.attention_norm(x_PE), packing, shared, first_PE)
            y_PE = x_PE + self.dropout(mixed_PE)
            return y_PE + self.dropout(self.ffn(self.ffn_norm(y_PE)))
        mixed_PE = self.attention.packed(x_PE, packing, shared, first_PE)
        y_PE = self.attention_norm(x_PE + self.dropout(mixed_PE))
        return self.ffn_norm(y_PE + self.dropout(self.ffn(y_PE)))

    def ffn(self, y_PE: Tensor) -> Tensor:
        """Return the feed-forward layer's output, of the input's shape."""
        return self.ffn_out(activated(self.ffn_in, self.activation, y_PE))

    def last_matrices(self) -> list[nn.Linear]:
        """Return the matrices whose products are added to the states."""
        return [self.attention.output, self.ffn_out]


class Encoder(nn.Module):
    """Tokens to hidden states.

    Each sequence of a batch has the pattern of its own number of blocks, so it gives the same
    states alone and next to longer ones. The pattern of a layer depends on `pattern_seed`, the
    layer, the head and the number of blocks, and is the same in training and evaluation.

    The random plans 'original' and 'huggingface' repeat published code: the pattern follows the
    width of the batch, padding included, and with 'huggingface' it differs in training.

    Args:
        generator: Draws the weights; by default one seeded with 0.
    """

    layer_type: ClassVar[type[nn.Module]] = EncoderLayer
    letters_at_once = True
    """Whether the stem may compute the convolution of a letter once for all tokens that have it."""

    def __init__(self, config: EncoderConfig, generator: torch.Generator | None = None) -> None:
        check_weights_fit(config)
        super().__init__()
        self.config = config
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = None
        if config.has_position_table:
            self.position = nn.Embedding(config.max_tokens, config.hidden_size)
        has_segments = config.num_segments > 0
        self.segment = (
            nn.Embedding(config.num_segments, config.hidden_size) if has_segments else None
        )
        self.stem = Stem(config.hidden_size, config.stem_width) if config.stem_width else None
        self.memory = None
        if config.word_memory:
            self.memory = WordMemory(
                config.hidden_size, config.word_memory, config.word_tokens, config.vocab_size
            )
        has_patches = config.patch_tokens > 1
        self.patches = Patches(config.hidden_size, config.patch_tokens) if has_patches else None
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(self.layer_type(config, i) for i in range(config.num_layers))
        self.skip_scales = None
        if config.layer_skips:
            self.skip_scales = nn.Parameter(torch.ones(config.num_layers // 2))
        initialise(self, config.init_std, generator or torch.Generator().manual_seed(0))
        if config.scale_residual:
            self._scale_residual()
        if self.position is not None:
            self.position.weight.requires_grad_(config.train_positions)

    @torch.no_grad()
    def _scale_residual(self) -> None:
        for layer in self.layers:
            for last in layer.last_matrices():
                last.weight /= math.sqrt(2 * len(self.layers))

    def set_backend(self, name: str) -> None:
        """Let every layer compute its attention with this backend, 'auto' or a name of `attend`."""
        # It is not kept with the model: a backend has no meaning of its own.
        name = OLD_CHOICES.get(name, name)
        attention_cores.check_backend(self.config, name)
        for layer in self.layers:
            layer.attention.backend = name

    def without_native(self) -> str | None:
        """Return why 'auto' computes on a CPU without the native kernel, or None."""
        return attention_cores.without_native(self.config)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None = None,
        num_layers: int | None = None,
        packing: Packing | None = None,
        is_global_BT: Tensor | None = None,
        added_BTE: Tensor | None = None,
    ) -> Tensor:
        """Return hidden states (batch, tokens, hidden); those of padding are zero.

        Args:
            is_padding_BT: True = padding. It is at the right; padding between tokens is
                hidden too, but counts for the length of its sequence.
            segment_ids_BT: From 0, the sentence of a pair; by default all 0.
            num_layers: The states after so many layers, 0 for the embeddings; by default all. With
                `norm_first` only those after the last layer are normalised.
            packing: What `packing` returns for this batch, if it was called ahead. With it
                torch.compile makes one graph of the model where the backend is an operator.
            is_global_BT: Of Longformer: True for tokens that read all tokens and that all read; by
                default the first one. A patch is global if one of its tokens is.
            added_BTE: What is added to the embeddings.
        """
        self._check_shapes(token_ids_BT, is_padding_BT, segment_ids_BT, is_global_BT)
        if packing is None:
            packing = self.packing(is_padding_BT)
        x_PE = self._embed(packing, token_ids_BT, segment_ids_BT)
        if added_BTE is not None:
            x_PE = x_PE + packing.pack_states(added_BTE)
        if self.patches is None:
            x_PE = self._after_layers(x_PE, packing, num_layers, is_global_BT)
            return packing.unpack(self._last_norm(x_PE, num_layers), is_padding_BT)
        x_BTE = packing.unpack(x_PE, is_padding_BT)
        x_BUE, is_padding_BU = self.patches.joined(x_BTE, is_padding_BT)
        packing = self.packing(is_padding_BU)
        is_global_BU = None
        if is_global_BT is not None:
            is_global_BU = self.patches.any_of(is_global_BT & ~is_padding_BT)
        x_PE = packing.pack_states(x_BUE)
        x_PE = self._after_layers(x_PE, packing, num_layers, is_global_BU)
        states_BTE = self.patches.spread(packing.unpack(x_PE, is_padding_BU), x_BTE)
        states_BTE = self._last_norm(states_BTE, num_layers)
        return states_BTE.masked_fill(is_padding_BT[..., None], 0.0)

    def _check_shapes(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        is_global_BT: Tensor | None = None,
    ) -> None:
        if is_global_BT is not None and self.config.attention != "longformer":
            raise ValueError(
                f"is_global is for attention longformer; this encoder has {self.config.attention}"
            )
        masks = {
            "is_padding": is_padding_BT, "segment_ids": segment_ids_BT, "is_global": is_global_BT
        }  # fmt: skip
        for name, tensor in masks.items():
            if tensor is not None and tensor.shape != token_ids_BT.shape:
                raise ValueError(
                    f"{name} is {tuple(tensor.shape)}, token_ids {tuple(token_ids_BT.shape)}"
                )

    def _after_layers(
        self,
        x_PE: Tensor,
        packing: Packing,
        num_layers: int | None,
        is_global_BT: Tensor | None = None,
    ) -> Tensor:
        if not len(self.layers):
            return x_PE
        is_global_P = None
        if self.config.attention == "longformer":
            is_first_P = packing.positions_P == 0
            is_global_P = is_first_P if is_global_BT is None else packing.pack(is_global_BT)
        shared = self.layers[0].attention.shared(packing, x_PE.dtype, is_global_P)
        first_PE = None
        if self.config.value_embeddings:
            first_PE = nn.functional.layer_norm(x_PE, x_PE.shape[-1:])
        return self._through_layers((x_PE,), num_layers, packing, shared, first_PE)[0]

    def _through_layers(
        self, streams: tuple[Tensor, ...], num_layers: int | None, *shared: Any
    ) -> tuple[Tensor, ...]:
        skipping = [] if self.skip_scales is None else list(self.skip_scales.unbind())
        kept: list[tuple[Tensor, ...]] = []
        for number, layer in enumerate(list(self.layers)[:num_layers]):
            mirrored = len(self.layers) - 1 - number
            if number < len(skipping):
                kept.append(streams)
            elif mirrored < len(skipping):
                pairs = zip(streams, kept.pop(), strict=True)
                streams = tuple(x + skipping[mirrored] * skipped for x, skipped in pairs)
            if self.config.gradient_checkpointing and torch.is_grad_enabled():
                after = checkpoint(layer, *streams, *shared, use_reentrant=False)
            else:
                after = layer(*streams, *shared)
            streams = (after,) if isinstance(after, Tensor) else after
        return streams

    def _last_norm(
        self, x: Tensor, num_layers: int | None, norm: nn.LayerNorm | None = None
    ) -> Tensor:
        is_last = num_layers in (None, len(self.layers))
        return (norm or self.norm)(x) if self.config.norm_first and is_last else x

    def packing(self, is_padding_BT: Tensor) -> Packing:
        """Return how a batch is packed, on the device of `is_padding_BT`, for `forward`."""
        return Packing.of(
            is_padding_BT,
            self.config.block_size,
            None if self.config.reads_any_length else self.config.max_tokens,
            whole_batch=self.config.keeps_published_padding,
        )

    def embed_words(self, token_ids: Tensor) -> Tensor:
        """Return the word vectors, scaled if the settings say so: (…, hidden)."""
        words = self.word(token_ids)
        return words * math.sqrt(self.config.hidden_size) if self.config.scale_embeddings else words

    def _embed(
        self, packing: Packing, token_ids_BT: Tensor, segment_ids_BT: Tensor | None
    ) -> Tensor:
        """Return LN(drop(memory + stem(word + position + segment))) (P, E), with `norm_first` no LN."""
        token_ids_P = packing.pack(token_ids_BT)
        if self._has_few_letters(segment_ids_BT):
            x_PE = self._embed_letters(packing, token_ids_P)
        else:
            x_PE = self._embed_tokens(packing, token_ids_P, segment_ids_BT)
        if self.memory is not None:
            x_PE = x_PE + self.memory(token_ids_P, x_PE, packing)
        return self._normed(x_PE)

    def _embed_tokens(
        self, packing: Packing, token_ids_P: Tensor, segment_ids_BT: Tensor | None
    ) -> Tensor:
        x_PE = self.embed_words(token_ids_P)
        if self.position is not None:
            # Padding in the last block may be after the last position.
            positions_P = packing.positions_P.clamp(max=self.config.max_tokens - 1)
            x_PE = x_PE + self.position(positions_P)
        if self.segment is None:
            pass  # sentences are not distinguished
        elif segment_ids_BT is None or self.config.num_segments == 1:
            x_PE = x_PE + self.segment.weight[0]
        else:
            x_PE = x_PE + self.segment(packing.pack(segment_ids_BT))
        return x_PE if self.stem is None else self.stem(x_PE, packing)

    def _has_few_letters(self, segment_ids_BT: Tensor | None) -> bool:
        """Return True if the stem reads one of few vectors at each token."""
        has_table = self.position is None and segment_ids_BT is None
        is_short = has_table and self.config.vocab_size <= FEW_LETTERS
        return self.stem is not None and is_short and self.letters_at_once

    def _embed_letters(self, packing: Packing, token_ids_P: Tensor) -> Tensor:
        table_VE = self.embed_words(torch.arange(self.config.vocab_size, device=token_ids_P.device))
        if self.segment is not None:
            table_VE = table_VE + self.segment.weight[0]
        return self.stem.of_letters(token_ids_P, table_VE, packing)

    def _normed(self, x_PE: Tensor) -> Tensor:
        x_PE = self.dropout(x_PE)
        return x_PE if self.config.norm_first else self.norm(x_PE)
